// One broker: process, log directories, listeners, requests by API, followers that lag.
import { html } from "../html.js";
import { path } from "../api.js";
import { useData } from "../data.js";
import { byteRate, bytes, count, dateTime, duration, millis, percent, short } from "../format.js";
import { to } from "../router.js";
import { Chart, STEPS, timesOf } from "../ui/chart.js";
import { Chip, CommandLine, Figure, Figures, NameLink, Note, Stale, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { addressOf } from "../words.js";

/** @typedef {any} Row */
/** A follower that caught up more recently is not behind: the leader has only just appended. */
const BEHIND_MS = 1000;
export const APIS = [
  { id: "api", head: "API", by: (/** @type {Row} */ row) => row.api, cell: (/** @type {Row} */ row) => row.api },
  { id: "requests", head: "requests", num: true, width: "95px", by: (/** @type {Row} */ row) => row.requests, cell: (/** @type {Row} */ row) => count(row.requests) },
  { id: "errors", head: "errors", num: true, width: "90px", rank: 2, by: (/** @type {Row} */ row) => row.errors, cell: (/** @type {Row} */ row) => count(row.errors) },
  { id: "p50", head: "p50", num: true, width: "72px", rank: 2, by: (/** @type {Row} */ row) => row.p50_ms, cell: (/** @type {Row} */ row) => millis(row.p50_ms) },
  { id: "p99", head: "p99", num: true, width: "72px", by: (/** @type {Row} */ row) => row.p99_ms, cell: (/** @type {Row} */ row) => millis(row.p99_ms) },
  { id: "max", head: "max", num: true, width: "90px", rank: 2, by: (/** @type {Row} */ row) => row.max_ms, cell: (/** @type {Row} */ row) => millis(row.max_ms) },
];
const DIRECTORIES = [
  { id: "path", head: "directory", cell: (/** @type {Row} */ row) => html`<span class="mono" title=${row.path}>${row.path}</span>${row.is_online ? "" : html` <span class="bad">offline: ${row.error}</span>`}` },
  { id: "partitions", head: "partitions", num: true, width: "95px", rank: 2, cell: (/** @type {Row} */ row) => count(row.partitions) },
  { id: "size", head: "size", num: true, width: "95px", cell: (/** @type {Row} */ row) => bytes(row.size_bytes) },
  { id: "free", head: "free", num: true, width: "95px", cell: (/** @type {Row} */ row) => bytes(row.free_bytes) },
  { id: "used", head: "disk used", num: true, width: "95px", rank: 2, cell: (/** @type {Row} */ row) => {
    const share = row.total_bytes && row.free_bytes !== null ? 1 - row.free_bytes / row.total_bytes : null;
    return html`<span class=${share !== null && share > 0.85 ? "bad" : ""}>${percent(share)}</span>`; } },
];
const LISTENERS = [
  { id: "name", head: "listener", cell: (/** @type {Row} */ row) => row.name },
  { id: "address", head: "address", cell: (/** @type {Row} */ row) => html`<span class="mono">${row.host}:${row.port}</span>` },
  { id: "security", head: "security", width: "150px", rank: 2, cell: (/** @type {Row} */ row) => row.security },
  { id: "connections", head: "connections", num: true, width: "110px", cell: (/** @type {Row} */ row) => count(row.connections) },
];
const LAGGING = [
  { id: "topic", head: "topic", cell: (/** @type {Row} */ row) => html`<${NameLink} kind="topics" name=${row.topic} />` },
  { id: "partition", head: "partition", num: true, width: "80px", cell: (/** @type {Row} */ row) => row.partition },
  { id: "follower", head: "follower", num: true, width: "90px", cell: (/** @type {Row} */ row) => html`<a href=${to(["brokers", row.broker_id])}>${row.broker_id}</a>` },
  { id: "lag", head: "behind", num: true, width: "90px", cell: (/** @type {Row} */ row) => count(row.lag) },
  { id: "caught", head: "caught up", num: true, width: "110px", rank: 2, cell: (/** @type {Row} */ row) => (typeof row.caught_up_ms_ago === "number" ? `${duration(row.caught_up_ms_ago)} ago` : "–") },
];

/** @param {{rows: Row[]}} props */
const Directories = ({ rows }) => html`<section><h2>Log directories</h2>
  <${Table} label="Log directories" rows=${rows} columns=${DIRECTORIES} rowKey=${(/** @type {Row} */ row) => row.path} /></section>`;

/** @param {{local: any}} props */
function Local({ local }) {
  const { process, rates, history } = local;
  const points = history?.bytes_in_per_s?.length ?? 0;
  const behind = (local.follower_lag ?? []).filter((/** @type {Row} */ row) => typeof row.caught_up_ms_ago !== "number" || row.caught_up_ms_ago >= BEHIND_MS);
  return html`
    <${Figures}>
      <${Figure} name="up"><span title=${`since ${dateTime(local.started_ms)}`}>${duration(local.uptime_ms)}</span><//>
      <${Figure} name="in">${typeof rates?.bytes_in_per_s === "number" ? `${short(rates.messages_in_per_s)} rec/s · ${byteRate(rates.bytes_in_per_s)}` : "–"}<//>
      <${Figure} name="out">${byteRate(rates?.bytes_out_per_s)}<//>
      <${Figure} name="requests">${short(rates?.requests_per_s)}/s<//>
      <${Figure} name="loop idle" tone=${typeof local.loop_idle === "number" && local.loop_idle < 0.1 ? "bad" : ""}>${percent(local.loop_idle)}<//>
      <${Figure} name="pool idle" tone=${typeof local.pool_idle === "number" && local.pool_idle < 0.1 ? "bad" : ""}>${percent(local.pool_idle)}<//>
      <${Figure} name="memory">${bytes(process?.rss_bytes)}<//>
      <${Figure} name="files">${count(process?.open_files)} of ${short(process?.max_open_files)}<//>
    <//>
    ${points > 1 && html`<${Chart} title="Traffic" note="last hour" times=${timesOf(history, points)} format=${byteRate} steps=${STEPS.bytes}
      series=${[{ name: "in", values: history.bytes_in_per_s }, { name: "out", values: history.bytes_out_per_s }]} />`}
    <section><h2>Requests <span class="quiet">total time, since the start</span></h2>
      <${Table} label="Requests by API" main rows=${local.apis ?? []} columns=${APIS} rowKey=${(/** @type {Row} */ row) => row.api} empty="Requests are not counted." /></section>
    <${Directories} rows=${local.log_directories ?? []} />
    <section><h2>Listeners</h2><${Table} label="Listeners" rows=${local.listeners ?? []} columns=${LISTENERS} rowKey=${(/** @type {Row} */ row) => row.name} /></section>
    ${behind.length > 0 && html`<section><h2>Followers that are behind</h2><${Table} label="Followers that are behind" rows=${behind} columns=${LAGGING}
      rowKey=${(/** @type {Row} */ row) => `${row.topic}-${row.partition}-${row.broker_id}`} /></section>`}`;
}

/** @param {{id: string}} props */
export function Broker({ id }) {
  const { data, error } = useData(path(["brokers", id]), 5000);
  if (!data) return html`<h1>Broker ${id}</h1><${Waiting} error=${error} what="the broker" />`;
  const { broker, local } = data;
  return html`
    <div class="bar"><h1>Broker ${broker.id}</h1> ${broker.is_controller && html`<${Chip}>controller<//>`}
      <span class="quiet"><span class="mono">${addressOf(broker)}</span> · leads ${count(broker.leaders)} · ${count(broker.replicas)} replicas${broker.rack ? ` · rack ${broker.rack}` : ""}${local ? ` · version ${local.version} · epoch ${count(local.broker_epoch)}` : ""}</span>
      <a class="right" href=${to(["settings"], { broker: broker.id })}>its settings</a></div>
    <${Stale} error=${error} />
    ${broker.out_of_sync > 0 && html`<${Note} tone="warn" title=${`${count(broker.out_of_sync)} replicas are not in sync.`}><a href=${to(["brokers", "matrix"], { state: "under_replicated" })}>look →</a><//>`}
    ${local ? html`<${Local} local=${local} />` : html`<p class="quiet">No more is known of this broker: name its HTTP port with --v1, if it is a pybroker.</p>
      ${data.log_directories?.length > 0 && html`<${Directories} rows=${data.log_directories} />`}`}
    <${CommandLine} cli=${data.cli} />`;
}
