// Overview: is the cluster healthy, what is wrong first, what is busiest, what happened last.
import { html } from "../html.js";
import { useData } from "../data.js";
import { byteRate, clock, count, dateTime, duration, millis, seconds, short } from "../format.js";
import { to } from "../router.js";
import { Chart, STEPS, timesOf } from "../ui/chart.js";
import { CommandLine, Figure, Figures, NameLink, Note, Spark, Stale, Verdict, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { addressOf, lagTone } from "../words.js";

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
    <${Figure} name="produce p50 / p99">${produce ? `${millis(produce.p50_ms)} / ${millis(produce.p99_ms)}` : "–"}<//>
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
        { id: "records", head: "rec/s in", num: true, width: "90px", cell: (/** @type {any} */ row) => short(row.rates.messages_in_per_s) },
        { id: "in", head: "in", num: true, width: "110px", cell: (/** @type {any} */ row) => byteRate(row.rates.bytes_in_per_s) },
        { id: "out", head: "out", num: true, width: "110px", rank: 2, cell: (/** @type {any} */ row) => byteRate(row.rates.bytes_out_per_s) },
        { id: "hour", head: "last hour", width: "140px", rank: 2,
          cell: (/** @type {any} */ row) => row.history && html`<${Spark} values=${row.history.bytes_in_per_s} label="Bytes in, last hour" />` },
      ]} /></section>`;
}

/** @param {any} props */
function WorstGroups({ rows }) {
  const worst = [...rows].sort((a, b) => (b.max_lag_seconds ?? -1) - (a.max_lag_seconds ?? -1) || (b.lag ?? -1) - (a.lag ?? -1)).slice(0, 8);
  return html`<section><h2>Groups <span class="quiet">by lag</span></h2>
    <${Table} label="Groups with the largest lag" rows=${worst} rowKey=${(/** @type {any} */ row) => row.group} empty="There is no group." columns=${[
      { id: "group", head: "group", cell: (/** @type {any} */ row) => html`<${NameLink} kind="groups" name=${row.group} />` },
      { id: "verdict", head: "verdict", width: "120px", cell: (/** @type {any} */ row) => html`<${Verdict} verdict=${row.verdict} />` },
      { id: "lag", head: "lag, records", num: true, width: "100px", rank: 2, cell: (/** @type {any} */ row) => count(row.lag) },
      { id: "time", head: "lag, time", num: true, width: "90px", cell: (/** @type {any} */ row) => html`<span class=${lagTone(row.max_lag_seconds)}
        >${seconds(row.max_lag_seconds)}</span>` },
    ]} /></section>`;
}

/** @param {any} props */
function BrokerList({ rows }) {
  return html`<section><h2>Brokers</h2>
    <${Table} label="Brokers" rows=${rows} rowKey=${(/** @type {any} */ row) => String(row.id)} columns=${[
      { id: "id", head: "id", width: "50px", num: true, cell: (/** @type {any} */ row) => html`<a href=${to(["brokers", row.id])}>${row.id}</a>` },
      { id: "address", head: "address", cell: (/** @type {any} */ row) => html`<span class="mono" title=${addressOf(row)}>${addressOf(row)}</span>` },
      { id: "leads", head: "leads", num: true, width: "70px", rank: 2, cell: (/** @type {any} */ row) => count(row.leaders) },
      { id: "state", head: "state", width: "130px", cell: (/** @type {any} */ row) => html`${row.is_controller ? "controller " : ""}${row.out_of_sync > 0
        ? html`<span class="warn">${count(row.out_of_sync)} out of sync</span>` : ""}` },
    ]} /></section>`;
}

/** @param {any} props */
export function Events({ rows }) {
  if (rows.length === 0) return html`<p class="quiet waiting">Nothing is known to have happened.</p>`;
  return html`<ol class="events">${rows.map((/** @type {any} */ event, /** @type {number} */ index) => html`
    <li key=${`${event.time_ms}-${index}`}><time title=${dateTime(event.time_ms)}>${clock(event.time_ms)}</time>
      <span class=${event.level === "WARNING" ? "warn" : event.level === "INFO" ? "" : "bad"}>${event.text}</span></li>`)}</ol>`;
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
    <div class="columns">
      <${WorstGroups} rows=${groups?.items ?? []} />
      <div><${BrokerList} rows=${brokers?.items ?? []} />
        <section><h2>Last events</h2><${Events} rows=${cluster.events ?? []} /></section></div>
    </div>
    <${CommandLine} cli=${cluster.cli} />`;
}
