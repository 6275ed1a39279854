// The wizard that moves a group's offsets: choose, look at the plan, execute.
import { html, useEffect, useState } from "../html.js";
import { api, path } from "../api.js";
import { count } from "../format.js";
import { CommandLine, Dialog, Note } from "../ui/parts.js";
import { Table } from "../ui/table.js";

/** @typedef {any} Row */
const TARGETS = [["earliest", "the beginning", ""], ["latest", "the end", ""], ["time", "a time", "time"], ["offset", "an offset", "0"], ["shift", "by so many records", "-100"]];
const COLUMNS = [
  { id: "partition", head: "partition", num: true, width: "80px", cell: (/** @type {Row} */ row) => row.partition },
  { id: "current", head: "now", num: true, cell: (/** @type {Row} */ row) => count(row.current) },
  { id: "target", head: "then", num: true, cell: (/** @type {Row} */ row) => html`<b>${count(row.target)}</b>` },
  { id: "moves", head: "moves by", num: true, rank: 2, cell: (/** @type {Row} */ row) => (row.current === null ? "–" : count(row.target - row.current)) },
  { id: "lag", head: "lag then", num: true, cell: (/** @type {Row} */ row) => count(row.lag_after) },
];

/** "0, 2-4" → [0, 2, 3, 4]; null (all) for an empty text. Throws an error with a text for people. @param {string} text */
export function numbersOf(text) {
  const numbers = [];
  for (const part of text.split(",").map((each) => each.trim()).filter(Boolean)) {
    const found = /^(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?$/.exec(part);
    if (!found) throw new Error(`Partitions are numbers like 0, 2-4; "${part}" is none.`);
    const [from, until] = [Number(found[1]), Number(found[2] ?? found[1])];
    for (let number = from; number <= until; number += 1) numbers.push(number);
  }
  return numbers.length > 0 ? numbers : null;
}

/** @param {any} props */
function Plan({ plan, done }) {
  return html`
    ${plan.blocked && html`<${Note} tone="warn" title="Not now.">${plan.blocked}<//>`}
    ${done && html`<${Note} tone=${done.done.some((/** @type {Row} */ row) => row.error) ? "bad" : ""} title=${`${done.done.filter((/** @type {Row} */ row) => !row.error).length} of ${done.done.length} offsets are reset.`}>
      ${done.done.find((/** @type {Row} */ row) => row.error)?.error}<//>`}
    <div class="points" tabindex="0" role="region" aria-label="Plan"><${Table} label="Plan" rows=${plan.plan} columns=${COLUMNS} rowKey=${(/** @type {Row} */ row) => `${row.topic}/${row.partition}`} empty="No partition is concerned." /></div>
    <${CommandLine} cli=${plan.cli} />`;
}

/** @param {any} props */
export function ResetOffsets({ group, offsets, onClose, onDone }) {
  const topics = [...new Set(offsets.map((/** @type {Row} */ row) => row.topic))];
  const [topic, setTopic] = useState(topics[0] ?? "");
  const [partitions, setPartitions] = useState("");
  const [kind, setKind] = useState("earliest");
  const [value, setValue] = useState("");
  const [plan, setPlan] = useState(/** @type {any} */ (null));
  const [done, setDone] = useState(/** @type {any} */ (null));
  const [error, setError] = useState("");
  const hint = TARGETS.find(([each]) => each === kind)?.[2] ?? "";
  useEffect(() => { setPlan(null); setDone(null); setError(""); }, [topic, partitions, kind, value]);
  const attempt = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setError("");
    try {
      if (plan) {
        setDone(await api.post(path(["groups", group, "offsets"]), { plan: plan.plan }));
        onDone();
      } else {
        setPlan(await api.post(path(["groups", group, "offsets", "plan"]), { topic, partitions: numbersOf(partitions), to: kind === "time" ? `time:${Date.parse(value)}` : hint ? `${kind}:${value}` : kind }));
      }
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
    }
  };
  return html`<${Dialog} title=${`Reset offsets of ${group}`} onClose=${onClose}><form onSubmit=${attempt}>
    <label>Topic <input list="reset-topics" value=${topic} required onInput=${(/** @type {any} */ event) => setTopic(event.target.value)} />
      <datalist id="reset-topics">${topics.map((each) => html`<option key=${each} value=${each} />`)}</datalist></label>
    <label>Partitions <input value=${partitions} placeholder="all; or 0, 2-4" onInput=${(/** @type {any} */ event) => setPartitions(event.target.value)} /></label>
    <label>To <select value=${kind} onChange=${(/** @type {any} */ event) => { setKind(event.target.value); setValue(""); }}>${TARGETS.map(([each, text]) => html`<option key=${each} value=${each}>${text}</option>`)}</select></label>
    ${hint && html`<label>Value <input type=${kind === "time" ? "datetime-local" : "number"} step="1" value=${value} required placeholder=${hint} onInput=${(/** @type {any} */ event) => setValue(event.target.value)} /></label>`}
    ${error && html`<${Note} tone="bad" title="Not possible.">${error}<//>`}
    ${plan && html`<${Plan} plan=${plan} done=${done} />`}
    ${!done && html`<button type="submit" class=${plan ? "main danger" : "main"} disabled=${plan !== null && (plan.blocked || plan.plan.length === 0)}>${plan ? "Execute the plan" : "Show the plan"}</button>`}
  </form><//>`;
}
