// Settings of a broker or a topic: value, where it comes from, default, and what it means.
import { html, useMemo } from "../html.js";
import { path } from "../api.js";
import { useData } from "../data.js";
import { count } from "../format.js";
import { filterRows } from "../listfilter.js";
import { route, setQuery } from "../router.js";
import { FilterBox } from "../ui/filterbox.js";
import { CommandLine, Stale, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";

/** @typedef {any} Row */
/** @type {Map<string, string>} */
const SOURCES = new Map([
  ["default", "default"], ["static_broker", "server.properties"], ["dynamic_broker", "this broker"], ["dynamic_default_broker", "all brokers"],
  ["topic", "the topic"], ["dynamic_topic", "the topic"], ["dynamic_broker_logger", "logger"],
]);
/** The source as Kafka names it, with or without "_config" at the end. @param {Row} row */
const kindOf = (row) => String(row.source).toLowerCase().replace(/_config$/, "");
const sourceOf = (/** @type {Row} */ row) => SOURCES.get(kindOf(row)) ?? row.source;
const isChanged = (/** @type {Row} */ row) => kindOf(row) !== "default";

const COLUMNS = [
  { id: "name", head: "name", width: "26%", by: (/** @type {Row} */ row) => row.name, cell: (/** @type {Row} */ row) => html`<span class="mono" title=${row.name}>${row.name}</span>` },
  { id: "value", head: "value", width: "20%", cell: (/** @type {Row} */ row) => (row.is_sensitive ? html`<span class="quiet">hidden</span>`
    : html`<span class=${`mono ${isChanged(row) ? "changed" : ""}`} title=${row.value}>${row.value === null || row.value === undefined ? "–" : row.value === "" ? "(empty)" : row.value}</span>`) },
  { id: "source", head: "set by", width: "140px", rank: 2, by: sourceOf, cell: (/** @type {Row} */ row) => html`<span class=${isChanged(row) ? "" : "quiet"}>${sourceOf(row)}</span>` },
  { id: "default", head: "default", width: "150px", rank: 3, cell: (/** @type {Row} */ row) => html`<span class="mono quiet" title=${row.default}>${row.default ?? "–"}</span>` },
  { id: "doc", head: "meaning", rank: 3, cell: (/** @type {Row} */ row) => html`<span class="quiet" title=${row.doc}>${row.doc}</span>` },
];
const RULES = {
  name: (/** @type {Row} */ row) => row.name,
  states: { changed: isChanged, "read-only": (/** @type {Row} */ row) => row.is_read_only, sensitive: (/** @type {Row} */ row) => row.is_sensitive },
};

/** @param {{settings: Row[], label: string, children?: any}} props */
export function SettingsTable({ settings, label, children }) {
  const { filter = "", changed = "" } = route.value.query;
  const rows = useMemo(() => filterRows(settings, `${filter}${changed ? " is:changed" : ""}`, RULES), [settings, filter, changed]);
  return html`
    <div class="bar"><${FilterBox} label="Filter settings" hint="filter: retention is:changed" />
      <label class="inline"><input type="checkbox" checked=${changed !== ""} onChange=${(/** @type {any} */ event) => setQuery({ changed: event.target.checked ? "1" : "" })} /> changed only</label>
      ${children}<span class="quiet">${count(rows.length)} of ${count(settings.length)}</span></div>
    <${Table} label=${label} main className="settings" rows=${rows} columns=${COLUMNS} sort="name" rowKey=${RULES.name} empty="No setting matches." />`;
}

export function Settings() {
  const { data: brokers } = useData("/brokers");
  const chosen = route.value.query.broker ?? "";
  const { data, error } = useData(chosen ? path(["configs", "brokers", chosen]) : "/configs", 60_000);
  if (!data) return html`<h1>Settings</h1><${Waiting} error=${error} what="the settings" />`;
  const broker = chosen || String(data.broker_id ?? data.source?.broker_id ?? brokers?.items[0]?.id ?? "");
  return html`<h1>Settings <span class="quiet">of broker ${broker}</span></h1>
    <${Stale} error=${error} />
    <${SettingsTable} settings=${data.settings} label=${`Settings of broker ${broker}`}>
      <label class="inline">broker <select value=${String(broker)} onChange=${(/** @type {any} */ event) => setQuery({ broker: event.target.value })}>
        ${(brokers?.items ?? []).map((/** @type {any} */ each) => html`<option key=${each.id} value=${String(each.id)}>${each.id}</option>`)}</select></label>
    <//>
    ${data.loggers?.length > 0 && html`<section><h2>Log levels</h2><ul class="flow">${data.loggers.map((/** @type {any} */ each) => html`
      <li key=${each.name}><span class="mono">${each.name}</span> <span class="quiet">${each.level}</span></li>`)}</ul></section>`}
    <${CommandLine} cli=${data.cli} />`;
}
