// The dialog that writes one record.
import { html, useState } from "../html.js";
import { api, path } from "../api.js";
import { count } from "../format.js";
import { Action } from "../ui/action.js";

/** "name: value" a line. @param {string} text */
function headersOf(text) {
  return text.split("\n").filter((line) => line.trim()).map((line) => {
    const at = line.indexOf(":");
    return { name: (at < 0 ? line : line.slice(0, at)).trim(), value: at < 0 ? null : { text: line.slice(at + 1).trim() } };
  });
}

/** @param {any} props */
export function Produce({ topic, onClose, onDone }) {
  const [partition, setPartition] = useState("");
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const [headers, setHeaders] = useState("");
  const [tombstone, setTombstone] = useState(false);
  const body = (/** @type {boolean} */ dry) => ({ partition: partition === "" ? null : Number(partition), key: key === "" ? null : { text: key },
    value: tombstone ? null : { text: value }, headers: headersOf(headers), timestamp_ms: null, dry_run: dry });
  const send = (/** @type {boolean} */ dry) => api.post(path(["topics", topic, "records"]), body(dry));
  const field = (/** @type {(text: string) => void} */ set) => (/** @type {any} */ event) => set(event.target.value);
  return html`<${Action} title=${`Produce to ${topic}`} verb="Produce" inputs=${[partition, key, value, headers, tombstone]} plan=${() => send(true)}
    act=${async () => { const made = await send(false); onDone(); return made; }} said=${(/** @type {any} */ made) => `Written to partition ${made.partition} at offset ${count(made.offset)}.`} onClose=${onClose}>
    <label>Partition <input type="number" min="0" value=${partition} placeholder="by the key" onInput=${field(setPartition)} /></label>
    <label>Key <input value=${key} placeholder="empty: no key" onInput=${field(setKey)} spellcheck=${false} /></label>
    <label>Value <textarea rows="6" class="mono" value=${value} disabled=${tombstone} onInput=${field(setValue)} spellcheck=${false} autofocus></textarea></label>
    <label class="inline"><input type="checkbox" checked=${tombstone} onChange=${(/** @type {any} */ event) => setTombstone(event.target.checked)} /> null value: deletes the key in a compacted topic</label>
    <label>Headers, one a line <textarea rows="2" class="mono" value=${headers} placeholder="trace: ab31" onInput=${field(setHeaders)} spellcheck=${false}></textarea></label><//>`;
}
