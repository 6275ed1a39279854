// Topics: one row a topic, 10,000 are no trouble; filter, sort, create.
import { html, useEffect, useMemo, useState } from "../html.js";
import { session } from "../api.js";
import { useData } from "../data.js";
import { bytes, count, seconds, short } from "../format.js";
import { filterRows } from "../listfilter.js";
import { route, to } from "../router.js";
import { FilterBox } from "../ui/filterbox.js";
import { CommandLine, NameLink, Stale, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { keeps, lagTone, troubleOf } from "../words.js";
import { CreateTopic } from "./create_topic.js";

const SOON_MS = 1_000;
const FIRST_ROWS = 100;

/** @typedef {any} Row */
const COLUMNS = [
  { id: "topic", head: "topic", by: (/** @type {Row} */ row) => row.topic, cell: (/** @type {Row} */ row) => html`<${NameLink} kind="topics" name=${row.topic} />` },
  { id: "partitions", head: "partitions", num: true, width: "90px", rank: 2, by: (/** @type {Row} */ row) => row.partitions, cell: (/** @type {Row} */ row) => count(row.partitions) },
  { id: "size", head: "size", num: true, width: "100px", by: (/** @type {Row} */ row) => row.size_bytes, cell: (/** @type {Row} */ row) => bytes(row.size_bytes) },
  { id: "in", head: "rec/s in", num: true, width: "90px", by: (/** @type {Row} */ row) => row.messages_in_per_s, cell: (/** @type {Row} */ row) => short(row.messages_in_per_s) },
  { id: "out", head: "out/s", num: true, width: "100px", rank: 2, by: (/** @type {Row} */ row) => row.bytes_out_per_s, cell: (/** @type {Row} */ row) => bytes(row.bytes_out_per_s) },
  { id: "keeps", head: "keeps", width: "210px", rank: 3, cell: (/** @type {Row} */ row) => html`<span class="quiet">${keeps(row)}</span>` },
  { id: "trouble", head: "trouble", width: "190px", rank: 3, by: (/** @type {Row} */ row) => row.offline_partitions * 1e6 + row.under_replicated_partitions,
    cell: (/** @type {Row} */ row) => { const trouble = troubleOf(row); return trouble && html`<span class=${trouble.tone}>${trouble.text}</span>`; } },
  { id: "lag", head: "worst lag", num: true, width: "100px", rank: 2, by: (/** @type {Row} */ row) => row.max_lag_seconds,
    cell: (/** @type {Row} */ row) => html`<span class=${lagTone(row.max_lag_seconds)}>${seconds(row.max_lag_seconds)}</span>` },
];
const RULES = {
  name: (/** @type {Row} */ row) => row.topic,
  fields: {
    partitions: (/** @type {Row} */ row) => row.partitions, size: (/** @type {Row} */ row) => row.size_bytes,
    in: (/** @type {Row} */ row) => row.messages_in_per_s, out: (/** @type {Row} */ row) => row.bytes_out_per_s,
    lag: (/** @type {Row} */ row) => row.max_lag_seconds, records: (/** @type {Row} */ row) => row.records,
  },
  states: {
    offline: (/** @type {Row} */ row) => row.offline_partitions > 0, internal: (/** @type {Row} */ row) => row.is_internal,
    "under-replicated": (/** @type {Row} */ row) => row.under_replicated_partitions > 0,
    "under-min-isr": (/** @type {Row} */ row) => row.under_min_isr_partitions > 0,
    compacted: (/** @type {Row} */ row) => row.cleanup_policy?.includes("compact"),
    empty: (/** @type {Row} */ row) => row.records === 0,
  },
};

export function Topics() {
  const { filter = "", sort = "topic" } = route.value.query;
  const [whole, setWhole] = useState(false);
  // Thousands of rows take long to arrive, so the first rows are asked for apart.
  const first = useData(whole || filter || sort !== "topic" ? null : `/topics?limit=${FIRST_ROWS}`);
  const { data: all, error, refresh } = useData("/topics", 15_000);
  const [creating, setCreating] = useState(false);
  const data = all ?? first.data;
  const items = data?.items;
  const rows = useMemo(() => filterRows(items ?? [], filter, RULES), [items, filter]);
  useEffect(() => { if (all) setWhole(true); }, [all]);
  // The first answer about a large cluster comes before sizes, rates and settings are known.
  useEffect(() => {
    if (all?.is_complete !== false) return undefined;
    const timer = setTimeout(refresh, SOON_MS);
    return () => clearTimeout(timer);
  }, [all]);
  if (!data) return html`<${Waiting} error=${error} what="the topics" />`;
  return html`
    <div class="bar"><h1>Topics <span class="quiet">${filter ? `${count(rows.length)} of ` : ""}${count(data.total)}</span></h1>
      <${FilterBox} label="Filter topics" hint="filter: orders is:under-replicated size>1GiB" />
      ${session.value.writes && html`<button type="button" onClick=${() => setCreating(true)}>Create topic …</button>`}</div>
    <${Stale} error=${error} />
    <${Table} label="Topics" main rows=${rows} total=${all ? undefined : data.total} columns=${COLUMNS} sort="topic" rowKey=${RULES.name}
      href=${(/** @type {Row} */ row) => to(["topics", row.topic])} empty=${filter ? "No topic matches the filter." : "There is no topic."} />
    <${CommandLine} cli=${data.cli} />
    ${creating && html`<${CreateTopic} onClose=${() => setCreating(false)} onDone=${refresh} />`}`;
}
