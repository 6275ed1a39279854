// The rebalances of a group: a strip of the time they took, a bar for each member, and a list with reason and culprit.
import { html, useState } from "../html.js";
import { clock, dateTime, duration } from "../format.js";
import { Lanes } from "./lanes.js";
import { Table } from "./table.js";

const SHOWN = 8;

/** @param {any} event */
function culprit(event) {
  if (!event.client_id && !event.member_id) return "–";
  return [event.client_id ?? event.member_id, event.instance_id && `(${event.instance_id})`, event.host].filter(Boolean).join(" ");
}

const COLUMNS = [
  { id: "time", head: "time", width: "80px", cell: (/** @type {any} */ row) => html`<time class="mono" title=${dateTime(row.time_ms, true)}>${clock(row.time_ms)}</time>` },
  { id: "generation", head: "generation", num: true, width: "90px", rank: 2, cell: (/** @type {any} */ row) => row.generation ?? "–" },
  { id: "reason", head: "what happened", cell: (/** @type {any} */ row) => html`<span class="whole">${row.text}${row.times > 1 ? html` <span class="quiet">×${row.times}</span>` : ""}${row.outcome === "interrupted" ? html` <span class="quiet">(interrupted)</span>` : ""}</span>` },
  { id: "culprit", head: "by", width: "240px", rank: 2, cell: (/** @type {any} */ row) => html`<span class="mono" title=${row.member_id}>${culprit(row)}</span>` },
  { id: "took", head: "took", num: true, width: "90px", rank: 2, cell: (/** @type {any} */ row) => html`<span class=${row.duration_ms > 30_000 ? "warn" : ""}>${row.duration_ms === null && row.kind === "rebalance" ? "running" : duration(row.duration_ms)}</span>` },
  { id: "waited", head: "waited longest for", width: "230px", rank: 3,
    cell: (/** @type {any} */ row) => (row.waited_for ? html`<span class="mono" title=${row.waited_for}>${row.waited_for}</span> ${row.waited_ms ? html`<span class="quiet">${duration(row.waited_ms)}</span>` : ""}` : "–") },
];

/** The time that rebalances took, from the oldest event until now, and the members. @param {any} props */
function Strip({ events, members }) {
  const until = Date.now();
  const from = Math.min(until - 60_000, ...events.map((/** @type {any} */ each) => each.time_ms));
  const at = (/** @type {number} */ ms) => Math.max(0, Math.min(1000, (1000 * (ms - from)) / (until - from)));
  return html`<div class="strip"><span class="quiet">rebalances</span><svg viewBox="0 0 1000 18" preserveAspectRatio="none" role="img"
      aria-label=${`${events.length} events since ${dateTime(from)}; the list below tells them`}>
      <rect x="0" y="7" width="1000" height="4" class="base" />
      ${events.map((/** @type {any} */ each, /** @type {number} */ index) => {
        const start = at(each.time_ms);
        const isRunning = each.kind === "rebalance" && each.duration_ms === null;
        const end = isRunning ? 1000 : at(each.time_ms + (each.duration_ms ?? 0));
        return html`<rect key=${index} x=${start} y="2" width=${Math.max(2, end - start)} height="14" class=${each.kind !== "rebalance" ? "mark" : isRunning || each.duration_ms > 30_000 ? "long" : "moved"} />`;
      })}</svg>
    <${Lanes} events=${events} members=${members} from=${from} until=${until} />
    <span></span><div class="quiet ends"><span>${dateTime(from)}</span><span>now</span></div></div>`;
}

/** @param {{events: any[], members: any[], known: boolean}} props */
export function Timeline({ events, members, known }) {
  const [all, setAll] = useState(false);
  if (!known) return null;
  const shown = all ? events : events.slice(0, SHOWN);
  return html`<section><h2>Rebalances and other events <span class="quiet">${events.length > 0 ? `last ${events.length}` : ""}</span></h2>
    ${events.length > 0 && html`<${Strip} events=${events} members=${members} />`}
    <${Table} label="Timeline" rows=${shown} columns=${COLUMNS} rowKey=${(/** @type {any} */ row) => `${row.time_ms} ${row.kind} ${row.generation} ${row.member_id}`}
      empty="No event is known. Only a pybroker keeps them, since its start." />
    ${events.length > SHOWN && html`<button type="button" class="plain" onClick=${() => setAll(!all)}>${all ? "show fewer" : `show all ${events.length}`}</button>`}
  </section>`;
}
