// A chart of the last hour by uPlot. Every chart can be read as a table too.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { clock } from "../format.js";

const HEIGHT = 170;
const ROWS_OF_TABLE = 60;
const LEAST_SECONDS = 120;
const SPARSE = 3;
/** @type {Promise<any> | null} */
let library = null;
const load = () => {
  library ??= import("../../vendor/uplot.js").then((module) => module.default);
  return library;
};

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const LINES = ["--accent", "--quiet", "--text"];
/** Steps of the axis that look round in the unit of the values. */
export const STEPS = {
  counts: Array.from({ length: 45 }, (_, index) => [1, 2, 5][index % 3] * 10 ** Math.floor(index / 3)),
  bytes: Array.from({ length: 44 }, (_, power) => 2 ** power),
  seconds: [0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000],
};

/** @param {any} _ @param {number | null} from @param {number | null} until seconds; null: there is no point yet */
function rangeOfTimes(_, from, until) {
  const end = until ?? Date.now() / 1000;
  return [Math.min(from ?? end, end - LEAST_SECONDS), end];
}

/** So few points that a line would not show them. @param {any} plot @param {number} index */
function isSparse(plot, index) {
  return plot.data[index].filter((/** @type {number | null} */ value) => value !== null && value !== undefined).length <= SPARSE;
}

/** @param {any} props @param {number} width */
function options({ series, format, steps }, width) {
  const axis = { stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false },
    font: "11px system-ui, sans-serif" };
  return {
    width, height: HEIGHT, legend: { show: false }, cursor: { y: false, points: { size: 6 } },
    scales: { x: { range: rangeOfTimes }, y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ top) => [0, top > 0 ? top * 1.1 : 1] } },
    axes: [
      { ...axis, grid: { show: false }, size: 24, space: 90,
        values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((s) => clock(s * 1000).slice(0, 5)) },
      { ...axis, size: 66, space: 34, ...(steps ? { incrs: steps } : {}),
        values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map((value) => format(value)) },
    ],
    series: [{}, ...series.map((/** @type {any} */ each, /** @type {number} */ index) => ({
      label: each.name, stroke: colour(LINES[index % 3]), width: 1.5, points: { show: isSparse, size: 4 },
      fill: series.length === 1 ? colour("--fill") : undefined, spanGaps: false,
    }))],
  };
}

/** @param {any} props */
function Points({ times, series, format, label }) {
  const step = Math.max(1, Math.ceil(times.length / ROWS_OF_TABLE));
  const rows = times.map((/** @type {number} */ at, /** @type {number} */ index) => ({ at, index }))
    .filter((/** @type {any} */ row) => (times.length - 1 - row.index) % step === 0).reverse();
  return html`<div class="points" tabindex="0" role="region" aria-label=${label}><table>
    <thead><tr><th scope="col">time</th>
      ${series.map((/** @type {any} */ each) => html`<th scope="col" class="num">${each.name}</th>`)}</tr></thead>
    <tbody>${rows.map((/** @type {any} */ row) => html`<tr key=${row.at}><td>${clock(row.at)}</td>
      ${series.map((/** @type {any} */ each) => html`<td class="num">${format(each.values[row.index])}</td>`)}</tr>`)}
    </tbody></table></div>`;
}

/**
 * @param {object} props
 * @param {string} props.title
 * @param {string} [props.note] stands beside the title: since when, of which broker
 * @param {number[]} props.times milliseconds since the epoch, oldest first
 * @param {{name: string, values: (number | null)[]}[]} props.series
 * @param {(value: any) => string} props.format
 * @param {number[]} [props.steps] of the axis
 */
export function Chart({ title, note, times, series, format, steps }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const plot = useRef(/** @type {any} */ (null));
  const [table, setTable] = useState(false);
  const [scheme, setScheme] = useState(0);
  const [at, setAt] = useState(/** @type {number | null} */ (null));
  const data = useMemo(() => [times.map((ms) => ms / 1000), ...series.map((each) => each.values)], [times, series]);
  const newest = useRef(data); // the library may arrive after the next data
  newest.current = data;
  const shape = series.map((each) => each.name).join();
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const changed = () => setScheme((old) => old + 1);
    dark.addEventListener("change", changed);
    return () => dark.removeEventListener("change", changed);
  }, []);
  useLayoutEffect(() => {
    let gone = false;
    const element = place.current;
    if (table || !element) return undefined;
    const size = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    load().then((UPlot) => {
      if (gone) return;
      const made = options({ series, format, steps }, element.clientWidth);
      plot.current = new UPlot({ ...made, hooks: { setCursor: [(/** @type {any} */ own) => setAt(own.cursor.idx ?? null)] } },
        newest.current, element);
      size.observe(element);
    });
    return () => {
      gone = true;
      size.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [table, scheme, shape]);
  useEffect(() => { plot.current?.setData(data); }, [data]);
  const last = times.length - 1;
  const index = at !== null && at <= last ? at : last;
  const said = series.map((each) => `${series.length > 1 ? `${each.name} ` : ""}${format(each.values[index] ?? null)}`).join(" · ");
  const named = series.map((each, number) => html`${number > 0 ? " · " : ""}<span class=${`key key${number}`}></span> ${each.name} ${format(each.values[index] ?? null)}`);
  return html`
    <figure class="chart">
      <figcaption><h2>${title} ${note && html`<span class="quiet">${note}</span>`}</h2>
        <span class="value">${last >= 0 && html`${series.length > 1 ? named : said} <span class="quiet">${clock(times[index])}</span>`}</span>
        <button type="button" class="plain" aria-pressed=${String(table)} onClick=${() => setTable(!table)}
          aria-label=${`Show ${title} as a ${table ? "chart" : "table"}`}>${table ? "chart" : "table"}</button>
      </figcaption>
      ${table ? html`<${Points} times=${times} series=${series} format=${format} label=${`${title}, points`} />`
        : html`<div class="plot" ref=${place} role="img" aria-label=${`${title}: now ${said}`}></div>`}
    </figure>`;
}

/** The times of a history's points. @param {{step_ms: number, end_ms: number}} history @param {number} points */
export function timesOf(history, points) {
  return Array.from({ length: points }, (_, index) => history.end_ms - (points - 1 - index) * history.step_ms);
}
