// The dialog that creates a topic.
import { html, useState } from "../html.js";
import { api } from "../api.js";
import { to } from "../router.js";
import { Action } from "../ui/action.js";

/** "name=value" a line. @param {string} text */
export function settingsOf(text) {
  return Object.fromEntries(text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
    const at = line.indexOf("=");
    return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  }));
}

/** @param {any} props */
export function CreateTopic({ onClose, onDone }) {
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("");
  const [replicas, setReplicas] = useState("");
  const [settings, setSettings] = useState("");
  const body = (/** @type {boolean} */ dry) => ({
    name, partitions: partitions ? Number(partitions) : null, replication_factor: replicas ? Number(replicas) : null,
    configs: settingsOf(settings), dry_run: dry,
  });
  const field = (/** @type {(text: string) => void} */ set) => (/** @type {any} */ event) => set(event.target.value);
  return html`<${Action} title="Create a topic" verb="Create topic" ready=${name !== ""} inputs=${[name, partitions, replicas, settings]}
    plan=${() => (name ? api.post("/topics", body(true)) : Promise.resolve({ cli: "" }))}
    act=${async () => { const made = await api.post("/topics", body(false)); onDone(); return made; }}
    said=${() => html`<a href=${to(["topics", name])}>Open ${name}</a>`} onClose=${onClose}>
    <label>Name <input value=${name} onInput=${field(setName)} autofocus autocomplete="off" spellcheck=${false} /></label>
    <label>Partitions <input value=${partitions} onInput=${field(setPartitions)} type="number" min="1" placeholder="the broker's default" /></label>
    <label>Replicas <input value=${replicas} onInput=${field(setReplicas)} type="number" min="1" placeholder="the broker's default" /></label>
    <label>Settings, one a line <textarea rows="3" value=${settings} onInput=${field(setSettings)} placeholder="retention.ms=604800000" spellcheck=${false}></textarea></label><//>`;
}
