// Overview: is the cluster healthy, what is wrong first, what is busiest, what happened last.
import { html } from "../html.js";
import { useData } from "../data.js";
import { byteRate, bytes, count, counted, dateTime, duration, millis, moment, percent, seconds, short } from "../format.js";
import { to } from "../router.js";
import { Chart, STEPS, timesOf } from "../ui/chart.js";
import { CommandLine, Figure, Figures, NameLink, Note, Spark, Stale, Verdict, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { addressOf, keeps, lagTone } from "../words.js";

/** Where a problem can be looked at. @param {any} problem */
function placeOf(problem) {
  if (problem.group) return to(["groups", problem.group]);
  if (problem.topic) return to(["topics", problem.topic]);
  if (problem.broker_id !== null && problem.broker_id !== undefined) return to(["brokers", problem.broker_id]);
  return null;
}

/** @param {any} props */
function Health({ verdict }) {
  if (!verdict) return null;
  if (verdict.status === "healthy") return html`<p class="healthy"><span class="dot good" aria-hidden="true"></span> Healthy</p>`;
  const only = verdict.problems.length === 1 ? placeOf(verdict.problems[0]) : null;
  return html`<${Note} tone=${verdict.status === "trouble" ? "bad" : "warn"} title=${verdict.text}>
    ${only && html`<a href=${only}>look →</a>`}
    ${verdict.problems.length > 1 && html`<ul class="problems">${verdict.problems.map((/** @type {any} */ problem, /** @type {number} */ index) => {
      const place = placeOf(problem);
      return html`<li key=${index}>${problem.text}${place && html` <a href=${place}>look →</a>`}</li>`;
    })}</ul>`}<//>`;
}

/** @param {any} props */
function Numbers({ cluster, topics, groups }) {
  const { rates, produce_times: produce, disk } = cluster;
  const lag = cluster.max_lag_seconds;
  return html`<${Figures}>
    <${Figure} name="in">${typeof rates?.bytes_in_per_s === "number" ? `${short(rates.messages_in_per_s)} rec/s · ${byteRate(rates.bytes_in_per_s)}` : "–"}<//>
    <${Figure} name="out">${byteRate(rates?.bytes_out_per_s)}<//>
    <${Figure} name="produce p50 / p99, 5 min">${produce ? `${millis(produce.p50_ms)} / ${millis(produce.p99_ms)}` : "–"}<//>
    <${Figure} name="topics · partitions">${count(cluster.topics ?? topics?.total)} · ${count(cluster.partitions)}<//>
    <${Figure} name="groups · worst lag" tone=${lagTone(lag)}>${count(cluster.groups ?? groups?.total)} · ${seconds(lag)}<//>
    <${Figure} name="under-replicated" tone=${cluster.under_replicated_partitions > 0 ? "warn" : ""}>${count(cluster.under_replicated_partitions)}<//>
    <${Figure} name="offline" tone=${cluster.offline_partitions > 0 ? "bad" : ""}>${count(cluster.offline_partitions)}<//>
    <${Figure} name="disk full in" tone=${typeof disk?.full_in_s === "number" && disk.full_in_s < 86_400 ? "bad" : ""}>${disk
      ? disk.full_in_s === null || disk.full_in_s === undefined ? "not soon" : duration(disk.full_in_s * 1000) : "–"}<//>
  <//>`;
}

/** @param {any} props */
function TopTopics({ rows }) {
  return html`<section><h2>Topics <span class="quiet">by rate in</span></h2>
    <${Table} label="Busiest topics" rows=${rows} rowKey=${(/** @type {any} */ row) => row.topic} main
      href=${(/** @type {any} */ row) => to(["topics", row.topic])} empty="No topic has traffic." columns=${[
        { id: "topic", head: "topic", cell: (/** @type {any} */ row) => html`<${NameLink} kind="topics" name=${row.topic} />` },
        { id: "partitions", head: "partitions", num: true, width: "85px", rank: 3, cell: (/** @type {any} */ row) => count(row.row?.partitions) },
        { id: "size", head: "size", num: true, width: "90px", rank: 2, cell: (/** @type {any} */ row) => bytes(row.row?.size_bytes) },
        { id: "records", head: "rec/s in", num: true, width: "80px", cell: (/** @type {any} */ row) => short(row.rates.messages_in_per_s) },
        { id: "in", head: "in", num: true, width: "100px", rank: 2, cell: (/** @type {any} */ row) => byteRate(row.rates.bytes_in_per_s) },
        { id: "out", head: "out", num: true, width: "100px", rank: 2, cell: (/** @type {any} */ row) => byteRate(row.rates.bytes_out_per_s) },
        { id: "hour", head: "last hour", width: "140px", rank: 2,
          cell: (/** @type {any} */ row) => row.history && html`<${Spark} values=${row.history.bytes_in_per_s} label="Bytes in, last hour" />` },
        { id: "keeps", head: "keeps", width: "250px", rank: 3, cell: (/** @type {any} */ row) => html`<span class="quiet">${keeps(row.row ?? {})}</span>` },
        { id: "lag", head: "worst lag", num: true, width: "90px", cell: (/** @type {any} */ row) => html`<span class=${lagTone(row.row?.max_lag_seconds)}
          >${seconds(row.row?.max_lag_seconds)}</span>` },
      ]} /></section>`;
}

/** @param {any} props */
function WorstGroups({ rows, without }) {
  const worst = [...rows].sort((a, b) => (b.max_lag_seconds ?? -1) - (a.max_lag_seconds ?? -1) || (b.lag ?? -1) - (a.lag ?? -1)).slice(0, 8);
  return html`<section><h2>Groups <span class="quiet">by lag${without > 0 ? `, without ${counted(without, "group")} whose lag is not asked for` : ""}</span></h2>
    <${Table} label="Groups with the largest lag" rows=${worst} rowKey=${(/** @type {any} */ row) => row.group} empty="There is no group." columns=${[
      { id: "group", head: "group", cell: (/** @type {any} */ row) => html`<${NameLink} kind="groups" name=${row.group} />` },
      { id: "verdict", head: "verdict", width: "120px", cell: (/** @type {any} */ row) => html`<${Verdict} verdict=${row.verdict} />` },
      { id: "lag", head: "lag, records", num: true, width: "100px", rank: 2, cell: (/** @type {any} */ row) => count(row.lag) },
      { id: "time", head: "lag, time", num: true, width: "90px", cell: (/** @type {any} */ row) => html`<span class=${lagTone(row.max_lag_seconds)}
        >${seconds(row.max_lag_seconds)}</span>` },
      { id: "text", head: "", rank: 3, cell: (/** @type {any} */ row) => html`<span class="quiet" title=${row.verdict_text}>${row.verdict_text}</span>` },
    ]} /></section>`;
}

/** What only the broker itself knows. @param {Map<number, any>} told @returns {any[]} */
const columnsOf = (told) => (told.size === 0 ? [] : [
  { id: "busy", head: "busy", num: true, width: "56px", rank: 2, tip: "share of time in which the event loop works",
    cell: (/** @type {any} */ row) => { const idle = told.get(row.id)?.loop_idle; return percent(typeof idle === "number" ? 1 - idle : null); } },
  { id: "memory", head: "memory", num: true, width: "78px", rank: 3, cell: (/** @type {any} */ row) => bytes(told.get(row.id)?.memory_bytes) },
  { id: "disk", head: "disk", num: true, width: "56px", rank: 2, tip: "share of the log directories' disks that is used",
    cell: (/** @type {any} */ row) => { const disk = told.get(row.id)?.disk; return percent(disk?.total_bytes ? 1 - disk.free_bytes / disk.total_bytes : null); } },
  { id: "p99", head: "p99", num: true, width: "66px", rank: 2, tip: "produce requests of the last five minutes",
    cell: (/** @type {any} */ row) => millis(told.get(row.id)?.produce_times?.p99_ms) },
]);

/** @param {any} props */
function BrokerList({ rows, toldBy }) {
  const told = new Map(toldBy.map((/** @type {any} */ each) => [each.broker_id, each]));
  return html`<section><h2>Brokers</h2>
    <${Table} label="Brokers" rows=${rows} rowKey=${(/** @type {any} */ row) => String(row.id)} columns=${[
      { id: "id", head: "id", width: "50px", num: true, cell: (/** @type {any} */ row) => html`<a href=${to(["brokers", row.id])}>${row.id}</a>` },
      { id: "address", head: "address", cell: (/** @type {any} */ row) => html`<span class="mono" title=${addressOf(row)}>${addressOf(row)}</span>` },
      { id: "leads", head: "leads", num: true, width: "60px", rank: 2, cell: (/** @type {any} */ row) => count(row.leaders) },
      ...columnsOf(told),
      { id: "state", head: "state", width: "130px", cell: (/** @type {any} */ row) => html`${row.is_controller ? "controller " : ""}${row.out_of_sync > 0
        ? html`<span class="warn">${count(row.out_of_sync)} out of sync</span>` : ""}` },
    ]} /></section>`;
}

/** @param {any} props */
export function Events({ rows }) {
  if (rows.length === 0) return html`<p class="quiet waiting">Nothing is known to have happened.</p>`;
  const isDated = rows.some((/** @type {any} */ event) => moment(event.time_ms).length > 8);
  return html`<ol class="events">${rows.map((/** @type {any} */ event, /** @type {number} */ index) => html`
    <li key=${`${event.time_ms}-${index}`} class=${isDated ? "dated" : ""}><time title=${dateTime(event.time_ms)}>${moment(event.time_ms)}</time>
      <span class=${event.level === "WARNING" ? "warn" : event.level === "INFO" ? "" : "bad"}>${event.text}${event.times > 1
        && html` <span class="quiet" title=${`This is the newest of ${event.times} since ${dateTime(event.since_ms)}`}>×${count(event.times)}</span>`}</span></li>`)}</ol>`;
}

export function Overview() {
  const { data: cluster, error } = useData("/cluster", 5000);
  const { data: brokers } = useData("/brokers", 5000);
  const { data: groups } = useData("/groups?sort=-max_lag_seconds&limit=20", 10_000);
  if (!cluster) return html`<${Waiting} error=${error} what="the cluster" />`;
  const history = cluster.history;
  const points = history?.bytes_in_per_s?.length ?? 0;
  return html`
    <h1 class="unseen">Overview</h1>
    <${Stale} error=${error} />
    <${Health} verdict=${cluster.verdict} />
    <${Numbers} cluster=${cluster} groups=${groups} />
    ${points > 1 && html`<${Chart} title="Traffic" note="last hour" times=${timesOf(history, points)} format=${byteRate} steps=${STEPS.bytes}
      series=${[{ name: "in", values: history.bytes_in_per_s }, { name: "out", values: history.bytes_out_per_s }]} />`}
    ${typeof cluster.rates?.bytes_in_per_s === "number" && html`<${TopTopics} rows=${cluster.top_topics ?? []} />`}
    <div class="columns even">
      <${WorstGroups} rows=${groups?.items ?? []} without=${groups?.without_lag ?? 0} />
      <div><${BrokerList} rows=${brokers?.items ?? []} toldBy=${cluster.told_by ?? []} />
        <section><h2>Last events <span class="quiet">of each kind</span></h2><${Events} rows=${cluster.events ?? []} /></section></div>
    </div>
    <${CommandLine} cli=${cluster.cli} />`;
}
