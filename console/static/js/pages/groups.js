// Groups: verdict and lag of every consumer group.
import { html, useMemo } from "../html.js";
import { useData } from "../data.js";
import { count, counted, seconds } from "../format.js";
import { filterRows } from "../listfilter.js";
import { route, to } from "../router.js";
import { FilterBox } from "../ui/filterbox.js";
import { CommandLine, NameLink, Note, Stale, Verdict, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { lagTone } from "../words.js";

/** @typedef {any} Row */
const ORDER = ["ok", "catching_up", "rewound", "falling_behind", "stalled", "stopped"];
const COLUMNS = [
  { id: "group", head: "group", by: (/** @type {Row} */ row) => row.group, cell: (/** @type {Row} */ row) => html`<${NameLink} kind="groups" name=${row.group} />` },
  { id: "verdict", head: "verdict", width: "125px", by: (/** @type {Row} */ row) => (row.verdict ? ORDER.indexOf(row.verdict) : null), cell: (/** @type {Row} */ row) => html`<${Verdict} verdict=${row.verdict} />` },
  { id: "state", head: "state", width: "160px", rank: 3, by: (/** @type {Row} */ row) => row.state, cell: (/** @type {Row} */ row) => html`<span class=${row.state === "Stable" ? "quiet" : ""}>${row.state}</span>` },
  { id: "members", head: "members", num: true, width: "85px", rank: 2, by: (/** @type {Row} */ row) => row.members, cell: (/** @type {Row} */ row) => count(row.members) },
  { id: "lag", head: "lag, records", num: true, width: "110px", by: (/** @type {Row} */ row) => row.lag, cell: (/** @type {Row} */ row) => count(row.lag) },
  { id: "time", head: "lag, time", num: true, width: "95px", rank: 2, by: (/** @type {Row} */ row) => row.max_lag_seconds,
    cell: (/** @type {Row} */ row) => html`<span class=${lagTone(row.max_lag_seconds)}>${seconds(row.max_lag_seconds)}</span>` },
  { id: "catch", head: "done in", num: true, width: "90px", rank: 3, by: (/** @type {Row} */ row) => row.seconds_to_catch_up, cell: (/** @type {Row} */ row) => seconds(row.seconds_to_catch_up) },
  { id: "rebalances", head: "rebalances", num: true, width: "95px", rank: 3, by: (/** @type {Row} */ row) => row.rebalances, cell: (/** @type {Row} */ row) => count(row.rebalances) },
  { id: "text", head: "", rank: 3, cell: (/** @type {Row} */ row) => html`<span class="quiet" title=${row.verdict_text}>${row.verdict_text}</span>` },
];
const RULES = {
  name: (/** @type {Row} */ row) => row.group,
  fields: { lag: (/** @type {Row} */ row) => row.lag, seconds: (/** @type {Row} */ row) => row.max_lag_seconds, members: (/** @type {Row} */ row) => row.members },
  states: {
    ...Object.fromEntries(ORDER.map((verdict) => [verdict.replaceAll("_", "-"), (/** @type {Row} */ row) => row.verdict === verdict])),
    empty: (/** @type {Row} */ row) => row.state === "Empty", stable: (/** @type {Row} */ row) => row.state === "Stable",
    rebalancing: (/** @type {Row} */ row) => row.state.endsWith("Rebalance"),
  },
};

export function Groups() {
  const { data, error } = useData("/groups", 10_000);
  const filter = route.value.query.filter ?? "";
  const items = data?.items;
  const rows = useMemo(() => filterRows(items ?? [], filter, RULES), [items, filter]);
  if (!data) return html`<${Waiting} error=${error} what="the groups" />`;
  return html`
    <div class="bar"><h1>Groups <span class="quiet">${filter ? `${count(rows.length)} of ` : ""}${count(data.total)}</span></h1>
      <${FilterBox} label="Filter groups" hint="filter: billing is:stopped lag>1k" /></div>
    <${Stale} error=${error} />
    ${data.without_lag > 0 && html`<${Note} tone="warn" title=${`Without lag: the last ${counted(data.without_lag, "group")} by name.`}>Kafka tells the lag of one group at a time, so it is shown for the first groups only. The page of a group has it; pybrokers tell it of all groups (--v1).<//>`}
    ${data.is_loading && html`<${Note} tone="warn" title="The list is not complete.">The coordinator still reads its offsets.<//>`}
    <${Table} label="Groups" main rows=${rows} columns=${COLUMNS} sort="-time" rowKey=${RULES.name} href=${(/** @type {Row} */ row) => to(["groups", row.group])}
      empty=${filter ? "No group matches the filter." : "There is no group."} />
    <${CommandLine} cli=${data.cli} />`;
}
