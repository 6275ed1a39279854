// Brokers: who leads what, and the matrix of partitions × brokers.
import { html, useMemo } from "../html.js";
import { path } from "../api.js";
import { useData } from "../data.js";
import { count } from "../format.js";
import { filterRows } from "../listfilter.js";
import { route, setQuery, to } from "../router.js";
import { FilterBox } from "../ui/filterbox.js";
import { CommandLine, Stale, Tabs, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { addressOf } from "../words.js";

/** @typedef {any} Row */
const COLUMNS = [
  { id: "id", head: "id", num: true, width: "55px", by: (/** @type {Row} */ row) => row.id, cell: (/** @type {Row} */ row) => html`<a href=${to(["brokers", row.id])}>${row.id}</a>` },
  { id: "address", head: "address", by: addressOf, cell: (/** @type {Row} */ row) => html`<span class="mono">${addressOf(row)}</span>` },
  { id: "role", head: "role", width: "110px", rank: 2, cell: (/** @type {Row} */ row) => (row.is_controller ? "controller" : "") },
  { id: "rack", head: "rack", width: "120px", rank: 3, by: (/** @type {Row} */ row) => row.rack, cell: (/** @type {Row} */ row) => row.rack ?? "–" },
  { id: "leaders", head: "leads", num: true, width: "80px", by: (/** @type {Row} */ row) => row.leaders, cell: (/** @type {Row} */ row) => count(row.leaders) },
  { id: "replicas", head: "replicas", num: true, width: "90px", rank: 2, by: (/** @type {Row} */ row) => row.replicas, cell: (/** @type {Row} */ row) => count(row.replicas) },
  { id: "out", head: "out of sync", num: true, width: "100px", by: (/** @type {Row} */ row) => row.out_of_sync, cell: (/** @type {Row} */ row) => html`<span class=${row.out_of_sync > 0 ? "warn" : ""}>${count(row.out_of_sync)}</span>` },
  { id: "elsewhere", head: "should lead more", num: true, width: "130px", rank: 3, by: (/** @type {Row} */ row) => row.preferred_leaders_elsewhere,
    tip: "Partitions that prefer this broker as their leader, but have another", cell: (/** @type {Row} */ row) => count(row.preferred_leaders_elsewhere) },
];

const STATES = [["", "all"], ["offline", "offline"], ["under_replicated", "under-replicated"], ["under_min_isr", "below min ISR"], ["not_preferred", "not led by the preferred broker"]];
const SIGNS = { leads: ["●", ""], sync: ["○", ""], behind: ["○", "bad"], offline: ["✕", "bad"] };
const WORDS = { leads: "leads", sync: "in sync", behind: "out of sync", offline: "offline" };

/** What a broker is to a partition. @param {Row} row @param {number} id @returns {keyof typeof SIGNS | null} */
function roleOf(row, id) {
  if (!row.replicas.includes(id)) return null;
  if (row.offline_replicas.includes(id)) return "offline";
  if (row.leader === id) return "leads";
  return row.isr.includes(id) ? "sync" : "behind";
}

/** @param {number[]} ids */
function matrixColumns(ids) {
  return [
    { id: "topic", head: "topic", by: (/** @type {Row} */ row) => row.topic, cell: (/** @type {Row} */ row) => html`<a class="name" href=${to(["topics", row.topic])} title=${row.topic}>${row.topic}</a>` },
    { id: "partition", head: "partition", num: true, width: "80px", by: (/** @type {Row} */ row) => row.partition, cell: (/** @type {Row} */ row) => row.partition },
    ...ids.map((id) => ({ id: `b${id}`, head: String(id), width: "46px", num: false, tip: `broker ${id}`, cell: (/** @type {Row} */ row) => {
      const role = roleOf(row, id);
      return role && html`<span class=${`sign ${SIGNS[role][1]}`} role="img" aria-label=${WORDS[role]} title=${`broker ${id} ${WORDS[role]}`}>${SIGNS[role][0]}</span>`;
    } })),
  ];
}

/** @param {{ids: number[]}} props */
function Matrix({ ids }) {
  const { state = "", filter = "" } = route.value.query;
  const { data, error } = useData(path(["partitions"], { state, limit: 100_000 }), 15_000);
  const rows = useMemo(() => (data?.rows ?? []).map((/** @type {any[]} */ values) => Object.fromEntries(data.columns.map((/** @type {string} */ name, /** @type {number} */ index) => [name, values[index]]))), [data]);
  const shown = useMemo(() => filterRows(rows, filter, { name: (row) => `${row.topic}-${row.partition}` }), [rows, filter]);
  const columns = useMemo(() => matrixColumns(ids), [ids.join()]);
  if (!data) return html`<${Waiting} error=${error} what="the partitions" />`;
  return html`
    <div class="bar"><${FilterBox} label="Filter partitions" hint="filter: orders-4" />
      <label class="inline">state <select value=${state} onChange=${(/** @type {any} */ event) => setQuery({ state: event.target.value })}>${STATES.map(([each, text]) => html`<option key=${each} value=${each}>${text}</option>`)}</select></label>
      <span class="quiet">${count(shown.length)} of ${count(data.total)}</span>
      <span class="quiet legend"><span class="sign">●</span> leads <span class="sign">○</span> in sync <span class="sign bad">○</span> out of sync <span class="sign bad">✕</span> offline</span></div>
    <${Stale} error=${error} />
    <${Table} label="Partitions by brokers" main className="matrix" rows=${shown} columns=${columns} sort="" rowKey=${(/** @type {Row} */ row) => `${row.topic}-${row.partition}`}
      href=${(/** @type {Row} */ row) => to(["topics", row.topic])} empty="No partition matches." />`;
}

/** @param {{tab: string}} props */
export function Brokers({ tab }) {
  const { data, error } = useData("/brokers", 5000);
  if (!data) return html`<h1>Brokers</h1><${Waiting} error=${error} what="the brokers" />`;
  return html`<h1>Brokers <span class="quiet">${count(data.items.length)}</span></h1>
    <${Tabs} current=${tab} tabs=${[["list", "/brokers"], ["matrix", "/brokers/matrix"]]} />
    <${Stale} error=${error} />
    ${tab === "matrix" ? html`<${Matrix} ids=${data.items.map((/** @type {Row} */ broker) => broker.id)} />`
      : html`<${Table} label="Brokers" main rows=${data.items} columns=${COLUMNS} sort="id" rowKey=${(/** @type {Row} */ row) => String(row.id)} href=${(/** @type {Row} */ row) => to(["brokers", row.id])} empty="No broker is alive." />`}
    <${CommandLine} cli=${data.cli} />`;
}
