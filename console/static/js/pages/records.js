// The records of a topic: a page of them from any place, a search by filter, or a live tail.
import { html, useEffect, useMemo, useRef, useState } from "../html.js";
import { api, path, session } from "../api.js";
import { count, counted, localTime, moment, short } from "../format.js";
import { useKeys } from "../keys.js";
import { lineOf } from "../payload.js";
import { route, setQuery } from "../router.js";
import { CommandLine, Note } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { Produce } from "./produce.js";
import { useRecords } from "./record_source.js";
import { RecordPanel } from "./record.js";
import { numbersOf } from "./reset_offsets.js";

/** @typedef {any} Row */
const PLACES = [["-100", "the last 100"], ["earliest", "the beginning"], ["latest", "the end"], ["time:", "a time …"], ["offset:", "an offset …"]];

/** Marks the words of a filter within a text. @param {string} text @param {string[]} words */
function marked(text, words) {
  const low = text.toLowerCase();
  const pieces = [];
  let at = 0;
  while (words.length > 0 && pieces.length < 40) {
    const next = words.map((word) => [low.indexOf(word, at), word.length]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0])[0];
    if (!next) break;
    pieces.push(text.slice(at, next[0]), html`<mark>${text.slice(next[0], next[0] + next[1])}</mark>`);
    at = next[0] + next[1];
  }
  return pieces.length > 0 ? [...pieces, text.slice(at)] : text;
}

/** The literals of a filter, for marking only. @param {string} query */
function literalsOf(query) {
  return (query.match(/"[^"]+"|[^\s()]+/g) ?? []).map((term) => term.replace(/^[\w.[\]]*(?:[:^]|[<>!]?=)/, "").replaceAll('"', "").toLowerCase())
    .filter((word) => word.length > 1 && !["and", "or", "not"].includes(word)).slice(0, 8);
}

/** @param {Row} row */
function valueOf(row) {
  if (row.decoded) return JSON.stringify(row.decoded);
  if (row.kind === "control") return "control record";
  return row.value === null ? "tombstone" : lineOf(row.value);
}

/** @param {string[]} words */
function columnsFor(words) {
  return [
    { id: "partition", head: "partition", num: true, width: "75px", rank: 2, cell: (/** @type {Row} */ row) => row.partition },
    { id: "offset", head: "offset", num: true, width: "95px", cell: (/** @type {Row} */ row) => html`<span title=${`partition ${row.partition}`}>${count(row.offset)}</span>` },
    { id: "time", head: "time", width: "175px", rank: 2, cell: (/** @type {Row} */ row) => html`<span class="mono quiet">${moment(row.timestamp_ms, true)}</span>` },
    { id: "key", head: "key", width: "18%", cell: (/** @type {Row} */ row) => html`<span class=${`mono ${row.key === null ? "quiet" : ""}`}>${row.key === null ? "null" : marked(lineOf(row.key), words)}</span>` },
    { id: "value", head: "value", cell: (/** @type {Row} */ row) => html`<span class=${`mono ${row.value === null || row.kind === "control" ? "quiet" : ""}`}>${marked(valueOf(row), words)}</span>` },
    { id: "headers", head: "headers", width: "170px", rank: 3, cell: (/** @type {Row} */ row) => html`<span class="quiet">${row.headers.slice(0, 3).map((/** @type {any} */ header) => `${header.name}=${lineOf(header.value)}`).join(" ")}${row.header_count > 3 ? " …" : ""}</span>` },
  ];
}

/** Says what a filter means while it is typed. @param {{text: string}} props */
function Meaning({ text }) {
  const [answer, setAnswer] = useState(/** @type {any} */ (null));
  useEffect(() => {
    setAnswer(null);
    if (!text.trim()) return undefined;
    const timer = setTimeout(() => api.get(path(["filter"], { query: text })).then(setAnswer, () => null), 250);
    return () => clearTimeout(timer);
  }, [text]);
  if (!answer) return html`<p class="meaning quiet" id="meaning"> </p>`;
  return html`<p class=${`meaning ${answer.valid ? "quiet" : "bad"}`} id="meaning" role="status">${answer.valid ? answer.meaning
    : `${answer.error}${answer.at === undefined || answer.at === null ? "" : ` (at character ${answer.at + 1})`}`}</p>`;
}

/** @param {{value: string, onChange: (from: string) => void}} props */
function From({ value, onChange }) {
  const kind = PLACES.map(([each]) => each).find((each) => (each.endsWith(":") ? value.startsWith(each) : value === each)) ?? "other";
  const detail = kind.endsWith(":") ? value.slice(kind.length) : "";
  const firsts = new Map([["time:", `time:${Date.now() - 3_600_000}`], ["offset:", "offset:0"]]);
  const change = (/** @type {any} */ event) => onChange(firsts.get(event.target.value) ?? event.target.value);
  const typed = (/** @type {any} */ event) => { if (event.target.value !== "") onChange(`${kind}${kind === "time:" ? Date.parse(event.target.value) : event.target.value}`); };
  return html`<label class="inline">from <select value=${kind} onChange=${change}>${PLACES.map(([each, text]) => html`<option key=${each} value=${each}>${text}</option>`)}
      ${kind === "other" && html`<option value="other">${/^-\d+$/.test(value) ? `the last ${value.slice(1)}` : "this place"}</option>`}</select></label>
    ${kind === "time:" && html`<input type="datetime-local" step="1" aria-label="Time" value=${localTime(detail)} onChange=${typed} />`}
    ${kind === "offset:" && html`<input class="place" type="number" min="0" aria-label="Offset" value=${detail} onChange=${typed} />`}`;
}

/** @param {{found: any}} props */
function Progress({ found }) {
  const { state, progress, fresh } = found;
  if (state === "live") return html`<span role="status"><span class="dot good full" aria-hidden="true"></span> live${progress ? ` · ${short(progress.seen)} seen` : ""}${fresh > 0 ? ` · ${counted(fresh, "new record")} held back` : ""}</span>`;
  if (state === "loading") return html`<span role="status" class="quiet">Loading …</span>`;
  if (!progress) return null;
  if (progress.searched === undefined) return html`<span class="quiet">${counted(progress.seen, "record")} seen, the tail is stopped</span>`;
  const reasons = { limit: "enough hits", time: "10 s are over", records: "10 M records are read", bytes: "2 GiB are read" };
  const reason = reasons[/** @type {keyof typeof reasons} */ (progress.reason)];
  return html`<span role="status">searched ${short(progress.searched)} of ${short(progress.total)}, ${counted(progress.hits, "hit")}, ${progress.seconds.toFixed(1)} s${reason ? ` · stopped: ${reason}` : ""}</span>`;
}

/** @param {{topic: string, partitions: number}} props */
export function Records({ topic }) {
  const { query = "", partitions = "", from = "", open = "" } = route.value.query;
  const [text, setText] = useState(query);
  const [producing, setProducing] = useState(false);
  const [problem, setProblem] = useState("");
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const found = useRecords(topic, { query, partitions, from });
  const columns = useMemo(() => columnsFor(literalsOf(query)), [query]);
  useKeys({ "/": () => field.current?.select() }, []);
  const search = (/** @type {Event} */ event) => {
    event.preventDefault();
    setQuery({ query: text.trim(), open: "" });
    if (text.trim() === query) found.again();
  };
  const choosePartitions = (/** @type {any} */ event) => {
    try {
      setQuery({ partitions: numbersOf(event.target.value)?.join(",") ?? "", open: "" });
      setProblem("");
    } catch (failed) {
      setProblem(/** @type {Error} */ (failed).message);
    }
  };
  const [openPartition, openOffset] = open.split("-").map(Number);
  const busy = found.state === "live" || found.state === "searching" || found.state === "loading";
  const start = from || (query ? "earliest" : "-100");
  return html`
    <form class="bar records" onSubmit=${search} role="search">
      <input ref=${field} class="filter mono" type="search" aria-label="Filter records" aria-describedby="meaning" spellcheck=${false} autocomplete="off"
        placeholder='status:failed (amount>=1 or header.trace^ab) not key?' value=${text} onInput=${(/** @type {any} */ event) => setText(event.target.value)} />
      <button type="submit">Search</button>
      <${From} value=${start} onChange=${(/** @type {string} */ place) => setQuery({ from: place, open: "" })} />
      <label class="inline">partitions <input class="place" value=${partitions} placeholder="all" onChange=${choosePartitions} /></label>
      ${found.state === "live" ? html`<button type="button" onClick=${found.pause} aria-pressed=${String(found.paused)}>${found.paused ? "Go on" : "Pause"}</button>`
        : html`<button type="button" onClick=${found.live}>Live</button>`}
      ${busy && html`<button type="button" onClick=${found.stop}>Stop</button>`}
      ${session.value.writes && html`<button type="button" class="right" onClick=${() => setProducing(true)}>Produce …</button>`}
    </form>
    <${Meaning} text=${text} />
    <div class="bar small"><${Progress} found=${found} />
      ${found.skipped > 0 && html`<span class="warn">${short(found.skipped)} came too fast and are left out</span>`}
      <span class="right">
        ${found.previous && html`<button type="button" class="plain" onClick=${() => setQuery({ from: found.previous, open: "" })}>← older</button>`}
        ${found.next && html` <button type="button" class="plain" onClick=${() => setQuery({ from: found.next, open: "" })}>${query ? "search on →" : "newer →"}</button>`}
      </span></div>
    ${(found.error || problem) && html`<${Note} tone="bad" title="Not possible.">${found.error || problem}<//>`}
    <${Table} label="Records" main className="records" rows=${found.records} columns=${columns} rowKey=${(/** @type {Row} */ row) => `${row.partition}-${row.offset}`}
      onOpen=${(/** @type {Row} */ row) => setQuery({ open: `${row.partition}-${row.offset}` })} isOpen=${(/** @type {Row} */ row) => open === `${row.partition}-${row.offset}`}
      empty=${found.state === "live" ? "Waiting for records …" : busy ? "Reading …" : found.error ? "" : query ? "No record matches." : "There is no record here."} />
    <${CommandLine} cli=${found.cli} />
    ${open && html`<${RecordPanel} topic=${topic} partition=${openPartition} offset=${openOffset} onClose=${() => setQuery({ open: "" })} />`}
    ${producing && html`<${Produce} topic=${topic} onClose=${() => setProducing(false)} onDone=${found.again} />`}`;
}
