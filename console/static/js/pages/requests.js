// Requests: the slow ones with what they waited for, and the clients that talk most.
import { html } from "../html.js";
import { useData } from "../data.js";
import { bytes, count, dateTime, duration, millis, moment } from "../format.js";
import { to } from "../router.js";
import { CommandLine, Stale, Tabs, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";

/** @typedef {any} Row */
const PHASES = ["queue", "local", "remote", "throttle", "send"];

/** @param {{row: Row}} props */
function Phases({ row }) {
  const known = PHASES.map((phase) => [phase, row[`${phase}_ms`]]).filter(([, ms]) => ms > 0);
  const said = known.map(([phase, ms]) => `${phase} ${millis(ms)}`).join(", ");
  let at = 0;
  const total = Math.max(1, known.reduce((sum, [, ms]) => sum + ms, 0));
  return html`<svg class="phases" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${said}><title>${said}</title>${known.map(([phase, ms]) => {
    const x = at;
    const width = (100 * ms) / total;
    at += width;
    return html`<rect key=${phase} x=${x} y="0" width=${width} height="8" class=${`phase-${phase}`} />`;
  })}</svg>`;
}

const SLOW = [
  { id: "time", head: "time", width: "150px", rank: 2, by: (/** @type {Row} */ row) => row.time_ms, cell: (/** @type {Row} */ row) => html`<time class="mono quiet" title=${dateTime(row.time_ms, true)}>${moment(row.time_ms)}</time>` },
  { id: "api", head: "API", width: "110px", by: (/** @type {Row} */ row) => row.api, cell: (/** @type {Row} */ row) => html`<span title=${`${row.api} version ${row.version}`}>${row.api} <span class="quiet">v${row.version}</span></span>` },
  { id: "total", head: "took", num: true, width: "80px", by: (/** @type {Row} */ row) => row.total_ms, cell: (/** @type {Row} */ row) => millis(row.total_ms) },
  { id: "phases", head: "phases", width: "110px", rank: 2, cell: (/** @type {Row} */ row) => html`<${Phases} row=${row} />` },
  { id: "waited", head: "waited for", cell: (/** @type {Row} */ row) => html`<span title=${row.waited_for}>${row.waited_for ?? "–"}</span>` },
  { id: "client", head: "client", width: "190px", rank: 2, by: (/** @type {Row} */ row) => row.client_id, cell: (/** @type {Row} */ row) => html`<span class="mono" title=${`${row.principal} from ${row.host}`}>${row.client_id}</span>` },
  { id: "broker", head: "broker", num: true, width: "70px", rank: 3, by: (/** @type {Row} */ row) => row.broker_id, cell: (/** @type {Row} */ row) => html`<a href=${to(["brokers", row.broker_id])}>${row.broker_id}</a>` },
  { id: "size", head: "size", num: true, width: "90px", rank: 3, by: (/** @type {Row} */ row) => row.request_bytes, cell: (/** @type {Row} */ row) => bytes(row.request_bytes) },
];
const CLIENTS = [
  { id: "client", head: "client", by: (/** @type {Row} */ row) => row.client_id, cell: (/** @type {Row} */ row) => html`<span class="mono" title=${row.client_id}>${row.client_id}</span>` },
  { id: "principal", head: "principal", width: "150px", rank: 2, by: (/** @type {Row} */ row) => row.principal, cell: (/** @type {Row} */ row) => html`<span title=${row.principal}>${row.principal}</span>` },
  { id: "software", head: "software", width: "160px", rank: 3, by: (/** @type {Row} */ row) => row.software, cell: (/** @type {Row} */ row) => html`<span class="quiet" title=${row.software}>${row.software ?? "–"}</span>` },
  { id: "host", head: "host", width: "130px", rank: 2, by: (/** @type {Row} */ row) => row.host, cell: (/** @type {Row} */ row) => html`<span class="mono">${row.host}</span>` },
  { id: "connections", head: "conn.", num: true, width: "65px", rank: 3, by: (/** @type {Row} */ row) => row.connections, cell: (/** @type {Row} */ row) => count(row.connections) },
  { id: "requests", head: "requests", num: true, width: "95px", rank: 2, by: (/** @type {Row} */ row) => row.requests, cell: (/** @type {Row} */ row) => count(row.requests) },
  { id: "in", head: "in", num: true, width: "90px", by: (/** @type {Row} */ row) => row.bytes_in, cell: (/** @type {Row} */ row) => bytes(row.bytes_in) },
  { id: "out", head: "out", num: true, width: "90px", by: (/** @type {Row} */ row) => row.bytes_out, cell: (/** @type {Row} */ row) => bytes(row.bytes_out) },
  { id: "throttled", head: "throttled", num: true, width: "90px", rank: 3, by: (/** @type {Row} */ row) => row.throttle_ms, cell: (/** @type {Row} */ row) => html`<span class=${row.throttle_ms > 0 ? "warn" : ""}>${duration(row.throttle_ms)}</span>` },
];

function Slow() {
  const { data, error } = useData("/requests/slow", 5000);
  if (!data) return html`<${Waiting} error=${error} what="the slow requests" />`;
  return html`<${Stale} error=${error} />
    <p class="quiet">${data.threshold_ms ? `Requests that took longer than ${millis(data.threshold_ms)}, newest first.` : "Slow requests are not noted."}</p>
    <${Table} label="Slow requests" main rows=${data.items} columns=${SLOW} rowKey=${(/** @type {Row} */ row) => `${row.time_ms} ${row.api} ${row.client_id} ${row.total_ms}`} empty="No request was slow." />
    <${CommandLine} cli=${data.cli} />`;
}

function Clients() {
  const { data, error } = useData("/clients", 5000);
  if (!data) return html`<${Waiting} error=${error} what="the clients" />`;
  return html`<${Stale} error=${error} />
    <p class="quiet">${count(data.connections)} connections. The clients that moved most bytes:</p>
    <${Table} label="Clients" main rows=${data.items} columns=${CLIENTS} sort="-in" rowKey=${(/** @type {Row} */ row) => `${row.client_id} ${row.principal} ${row.host} ${row.software}`} empty="No client is known." />
    <${CommandLine} cli=${data.cli} />`;
}

/** @param {{tab: string}} props */
export function Requests({ tab }) {
  return html`<h1>Requests</h1>
    <${Tabs} current=${tab} tabs=${[["slow", to(["requests"])], ["clients", to(["requests", "clients"])]]} />
    ${tab === "clients" ? html`<${Clients} />` : html`<${Slow} />`}`;
}
