// One topic: its partitions, records, settings, consumers and producers.
import { html, useState } from "../html.js";
import { api, path, session } from "../api.js";
import { useData } from "../data.js";
import { byteRate, bytes, count, counted, dateTime, duration, seconds, short } from "../format.js";
import { go, to } from "../router.js";
import { Delete } from "../ui/action.js";
import { Chart, STEPS, timesOf } from "../ui/chart.js";
import { Chip, CommandLine, Figure, Figures, NameLink, Note, Stale, Tabs, Verdict, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { keeps, lagTone, troubleOf } from "../words.js";
import { Records } from "./records.js";
import { SettingsTable } from "./settings.js";

/** The replicas of a partition as dots: full = leader, ring = in sync, red = not in sync. @param {any} props */
export function Replicas({ row }) {
  const lagging = new Map((row.followers ?? []).map((/** @type {any} */ each) => [each.broker_id, each]));
  const out = row.replicas.filter((/** @type {number} */ id) => !row.isr.includes(id));
  const said = row.replicas.map((/** @type {number} */ id) => `${id} ${id === row.leader ? "leads" : row.isr.includes(id) ? "in sync" : "out of sync"}`).join(", ");
  const behind = out.map((/** @type {number} */ id) => {
    const lag = lagging.get(id)?.lag;
    return row.offline_replicas?.includes(id) ? `${id} is offline` : lag ? `${id} is ${count(lag)} behind` : `${id} is out of sync`;
  });
  return html`<span class="replicas" role="img" aria-label=${said} title=${said}>${row.replicas.map((/** @type {number} */ id) => html`
    <span key=${id} class=${`dot ${id === row.leader ? "full" : ""} ${row.isr.includes(id) ? "" : "bad"}`}></span>`)}</span>
    ${behind.length > 0 && html` <span class="warn">${behind.join(", ")}</span>`}`;
}

const PARTITIONS = [
  { id: "partition", head: "partition", num: true, width: "80px", by: (/** @type {any} */ row) => row.partition, cell: (/** @type {any} */ row) => row.partition },
  { id: "leader", head: "leader", num: true, width: "75px", by: (/** @type {any} */ row) => row.leader,
    cell: (/** @type {any} */ row) => (row.leader === null ? html`<span class="bad">none</span>` : html`<a href=${to(["brokers", row.leader])}>${row.leader}</a>`) },
  { id: "replicas", head: "replicas", cell: (/** @type {any} */ row) => html`<${Replicas} row=${row} />` },
  { id: "start", head: "start", num: true, width: "100px", rank: 2, by: (/** @type {any} */ row) => row.start_offset, cell: (/** @type {any} */ row) => count(row.start_offset) },
  { id: "end", head: "end", num: true, width: "110px", by: (/** @type {any} */ row) => row.end_offset, cell: (/** @type {any} */ row) => count(row.end_offset) },
  { id: "size", head: "size", num: true, width: "90px", rank: 2, by: (/** @type {any} */ row) => row.size_bytes, cell: (/** @type {any} */ row) => bytes(row.size_bytes) },
  { id: "oldest", head: "oldest", num: true, width: "120px", rank: 3, by: (/** @type {any} */ row) => row.oldest_ms,
    cell: (/** @type {any} */ row) => (!row.oldest_ms ? "–" : html`<span title=${dateTime(row.oldest_ms)}>${duration(Math.max(0, Date.now() - row.oldest_ms))}</span>`) },
  { id: "segments", head: "segments", num: true, width: "90px", rank: 3, by: (/** @type {any} */ row) => row.segments, cell: (/** @type {any} */ row) => count(row.segments) },
];

const CONSUMERS = [
  { id: "group", head: "group", by: (/** @type {any} */ row) => row.group, cell: (/** @type {any} */ row) => html`<${NameLink} kind="groups" name=${row.group} />` },
  { id: "verdict", head: "verdict", width: "130px", by: (/** @type {any} */ row) => row.verdict, cell: (/** @type {any} */ row) => html`<${Verdict} verdict=${row.verdict} />` },
  { id: "members", head: "members", num: true, width: "90px", rank: 2, by: (/** @type {any} */ row) => row.members, cell: (/** @type {any} */ row) => count(row.members) },
  { id: "lag", head: "lag, records", num: true, width: "110px", rank: 2, by: (/** @type {any} */ row) => row.lag, cell: (/** @type {any} */ row) => count(row.lag) },
  { id: "time", head: "lag, time", num: true, width: "100px", by: (/** @type {any} */ row) => row.lag_seconds,
    cell: (/** @type {any} */ row) => html`<span class=${lagTone(row.lag_seconds)}>${seconds(row.lag_seconds)}</span>` },
];

const PRODUCERS = [
  { id: "partition", head: "partition", num: true, width: "80px", by: (/** @type {any} */ row) => row.partition, cell: (/** @type {any} */ row) => row.partition },
  { id: "id", head: "producer id", num: true, width: "110px", by: (/** @type {any} */ row) => row.producer_id, cell: (/** @type {any} */ row) => count(row.producer_id) },
  { id: "epoch", head: "epoch", num: true, width: "70px", rank: 2, by: (/** @type {any} */ row) => row.producer_epoch, cell: (/** @type {any} */ row) => row.producer_epoch },
  { id: "sequence", head: "last sequence", num: true, width: "120px", rank: 2, by: (/** @type {any} */ row) => row.last_sequence, cell: (/** @type {any} */ row) => count(row.last_sequence) },
  { id: "time", head: "last record", width: "170px", rank: 2, by: (/** @type {any} */ row) => row.last_timestamp_ms, cell: (/** @type {any} */ row) => dateTime(row.last_timestamp_ms) },
  { id: "open", head: "open transaction", by: (/** @type {any} */ row) => row.open_transaction_start_offset,
    cell: (/** @type {any} */ row) => (row.open_transaction_start_offset === null || row.open_transaction_start_offset === undefined ? html`<span class="quiet">no</span>` : `since offset ${count(row.open_transaction_start_offset)}`) },
];

/** @param {any} props */
function Partitions({ data }) {
  const { topic, partitions, history } = data;
  const trouble = troubleOf(topic);
  const points = history?.bytes_in_per_s?.length ?? 0;
  return html`
    ${trouble && html`<${Note} tone=${trouble.tone} title=${trouble.text}>See the red dots below.<//>`}
    <${Figures}>
      <${Figure} name="records">${count(topic.records)}<//>
      <${Figure} name="size">${bytes(topic.size_bytes)}<//>
      <${Figure} name="in">${typeof topic.messages_in_per_s === "number" ? `${short(topic.messages_in_per_s)} rec/s · ${byteRate(topic.bytes_in_per_s)}` : "–"}<//>
      <${Figure} name="out">${byteRate(topic.bytes_out_per_s)}<//>
      <${Figure} name="keeps">${keeps(topic)}<//>
      <${Figure} name="worst lag" tone=${lagTone(topic.max_lag_seconds)}>${seconds(topic.max_lag_seconds)}<//>
    <//>
    ${points > 1 && html`<${Chart} title="Traffic" note="last hour" times=${timesOf(history, points)} format=${byteRate} steps=${STEPS.bytes}
      series=${[{ name: "in", values: history.bytes_in_per_s }, { name: "out", values: history.bytes_out_per_s }]} />`}
    <${Table} label="Partitions" main rows=${partitions} columns=${PARTITIONS} rowKey=${(/** @type {any} */ row) => String(row.partition)} sort="partition"
      href=${(/** @type {any} */ row) => to(["topics", topic.topic, "records"], { partitions: row.partition })} />`;
}

/** @param {{name: string, tab: string}} props */
export function Topic({ name, tab }) {
  const { data, error } = useData(path(["topics", name]), tab === "records" ? 30_000 : 5000);
  const [deleting, setDeleting] = useState(false);
  if (!data) return html`<h1>${name}</h1><${Waiting} error=${error} what="the topic" />`;
  const { writes, records } = session.value;
  const tabs = [["partitions", to(["topics", name]), data.partitions.length], ["records", to(["topics", name, "records"])],
    ["settings", to(["topics", name, "settings"])], ["consumers", to(["topics", name, "consumers"]), data.consumers?.length ?? 0],
    ["producers", to(["topics", name, "producers"]), data.producers_total ?? data.producers?.length ?? 0]];
  return html`
    <div class="bar"><h1 class="name">${name}</h1> ${data.topic.is_internal && html`<${Chip}>internal<//>`}
      <span class="quiet">${counted(data.partitions.length, "partition")} · replication ${count(data.topic.replication_factor)}</span>
      ${writes && html`<button type="button" class="right danger" onClick=${() => setDeleting(true)}>Delete topic …</button>`}</div>
    <${Tabs} tabs=${records === false ? tabs.filter(([each]) => each !== "records") : tabs} current=${tab} />
    <${Stale} error=${error} />
    ${tab === "records" ? html`<${Records} topic=${name} partitions=${data.partitions.length} />`
      : tab === "settings" ? html`<${SettingsTable} settings=${data.settings} label=${`Settings of ${name}`} />`
      : tab === "consumers" ? html`<${Table} label="Groups that consume" main rows=${data.consumers ?? []} columns=${CONSUMERS} sort="-time"
          rowKey=${(/** @type {any} */ row) => row.group} href=${(/** @type {any} */ row) => to(["groups", row.group])} empty="No group has committed an offset of this topic." />`
      : tab === "producers" ? html`<${Table} label="Producers" main rows=${data.producers ?? []} columns=${PRODUCERS} rowKey=${(/** @type {any} */ row) => `${row.partition}-${row.producer_id}`}
          empty="No idempotent or transactional producer is known." />`
      : html`<${Partitions} data=${data} />`}
    ${tab !== "records" && html`<${CommandLine} cli=${data.cli} />`}
    ${deleting && html`<${Delete} kind="topic" name=${name} send=${(/** @type {any} */ body) => api.delete(path(["topics", name]), body)}
      onClose=${() => setDeleting(false)} onDone=${() => go("/topics")} />`}`;
}
