// Tables: sort by a click on a head, j/k and Enter, and only the rows on the screen exist (28 px each).
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../html.js";
import { useKeys } from "../keys.js";
import { go, route, setQuery } from "../router.js";

const ROW = 28;
const SPARE = 12;
const ALL_AT_ONCE = 120;

/**
 * @typedef {object} Column
 * @property {string} id
 * @property {string} head
 * @property {(row: any) => any} cell
 * @property {(row: any) => any} [by] what to sort by: a number, text or null
 * @property {boolean} [num] numbers stand at the right
 * @property {string} [width] a CSS width; columns without one share the rest
 * @property {number} [rank] 2 is hidden on narrow windows, 3 on all but wide ones
 * @property {string} [tip]
 */

/** @param {any[]} rows @param {Column[]} columns @param {string} sort "-size": descending */
function sorted(rows, columns, sort) {
  const by = columns.find((column) => column.id === sort.replace(/^-/, ""))?.by;
  if (!by) return rows;
  const sign = sort.startsWith("-") ? -1 : 1;
  const values = rows.map((row) => /** @type {[any, any]} */ ([by(row), row]));
  values.sort(([a], [b]) => {
    if (a === null || a === undefined) return b === null || b === undefined ? 0 : 1; // what is not known comes last
    if (b === null || b === undefined) return -1;
    return a < b ? -sign : a > b ? sign : 0;
  });
  return values.map(([, row]) => row);
}

/** Follows which rows are on the screen. @param {any} body @param {number} total */
function useWindow(body, total) {
  const [range, setRange] = useState([0, Math.min(total, 60)]);
  useLayoutEffect(() => {
    const measure = () => {
      if (!body.current) return;
      const top = -body.current.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor(top / ROW) - SPARE);
      const until = Math.min(total, Math.ceil((top + innerHeight) / ROW) + SPARE);
      setRange((old) => (old[0] === from && old[1] === until ? old : [Math.min(from, total), Math.max(from, until)]));
    };
    measure();
    addEventListener("scroll", measure, { passive: true });
    addEventListener("resize", measure);
    return () => {
      removeEventListener("scroll", measure);
      removeEventListener("resize", measure);
    };
  }, [total]);
  return total <= ALL_AT_ONCE ? [0, total] : [Math.min(range[0], total), Math.min(range[1], total)];
}

/** @param {{columns: Column[], sort: string, onSort: (column: Column) => void}} props */
function Head({ columns, sort, onSort }) {
  return html`<thead><tr>${columns.map((column) => {
    const is = sort === column.id ? "ascending" : sort === `-${column.id}` ? "descending" : undefined;
    const classes = `${column.num ? "num" : ""} ${column.rank ? `rank${column.rank}` : ""}`;
    return html`<th key=${column.id} scope="col" class=${classes} aria-sort=${is} title=${column.tip}>
      ${column.by ? html`<button type="button" onClick=${() => onSort(column)}>${column.head}
        <span aria-hidden="true" class="arrow">${is === "ascending" ? "▲" : is ? "▼" : ""}</span></button>`
        : column.head}</th>`;
  })}</tr></thead>`;
}

/**
 * @param {object} props
 * @param {string} props.label says what the table holds, for screen readers
 * @param {Column[]} props.columns
 * @param {any[]} props.rows
 * @param {number} [props.total] how many rows there will be, while only the first are known
 * @param {(row: any) => string} props.rowKey
 * @param {(row: any) => string | null} [props.href] where Enter leads
 * @param {(row: any) => void} [props.onOpen] what Enter does, if it leads nowhere
 * @param {string} [props.sort] first order; "" keeps the order of the rows
 * @param {boolean} [props.main] j, k and Enter act on this table, and the address keeps its order
 * @param {string} [props.empty] what is said when there are no rows
 * @param {(row: any) => boolean} [props.isOpen] marks the row whose details are shown
 * @param {string} [props.className]
 */
export function Table({ label, columns, rows, total = 0, rowKey, href, onOpen, sort = "", main = false, empty, isOpen, className }) {
  const [own, setOwn] = useState(sort);
  const order = main ? route.value.query.sort ?? sort : own;
  const list = useMemo(() => sorted(rows, columns, order), [rows, order, columns.length]);
  const body = useRef(/** @type {HTMLElement | null} */ (null));
  const [from, until] = useWindow(body, list.length);
  const count = Math.max(list.length, total);
  const [chosen, setChosen] = useState(-1);
  // Keys come faster than the page is drawn, so they read the newest values here.
  const now = useRef({ chosen, list });
  now.current.list = list;
  const choose = (/** @type {number} */ index) => { now.current.chosen = index; setChosen(index); };
  useEffect(() => choose(-1), [order]);

  const onSort = (/** @type {Column} */ column) => {
    const first = column.num ? `-${column.id}` : column.id;
    const next = order === first ? (first.startsWith("-") ? column.id : `-${column.id}`) : first;
    if (main) setQuery({ sort: next });
    else setOwn(next);
  };
  const move = (/** @type {number} */ by) => {
    const next = Math.max(0, Math.min(now.current.list.length - 1, now.current.chosen + by));
    choose(next);
    const top = body.current?.getBoundingClientRect().top ?? 0;
    const at = top + next * ROW;
    if (at < 90) scrollBy(0, at - 90);
    else if (at + ROW > innerHeight) scrollBy(0, at + 2 * ROW - innerHeight);
  };
  const open = () => {
    const row = now.current.list[now.current.chosen];
    if (!row) return;
    if (onOpen) onOpen(row);
    else if (href?.(row)) go(/** @type {string} */ (href(row)));
  };
  useKeys(main ? { j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1), Enter: open } : {}, [main]);

  if (rows.length === 0) return html`<p class="quiet waiting">${empty ?? "Nothing here."}</p>`;
  return html`
    <div class="table">
    <table class=${className} aria-label=${label} aria-rowcount=${count + 1}>
      <colgroup>${columns.map((column) => html`<col key=${column.id} class=${column.rank ? `rank${column.rank}` : ""}
        style=${column.width ? { width: column.width } : undefined} />`)}</colgroup>
      <${Head} columns=${columns} sort=${order} onSort=${onSort} />
      <tbody ref=${body}>
        ${from > 0 && html`<tr aria-hidden="true" class="gap" key="above" style=${{ height: `${from * ROW}px` }}></tr>`}
        ${list.slice(from, until).map((row, index) => html`
          <tr key=${rowKey(row)} aria-rowindex=${from + index + 2}
            class=${`${from + index === chosen ? "chosen" : ""} ${isOpen?.(row) ? "open" : ""} ${onOpen ? "pressable" : ""}`}
            aria-selected=${from + index === chosen ? "true" : undefined}
            onClick=${onOpen ? () => { choose(from + index); onOpen(row); } : undefined}>
            ${columns.map((column) => html`
              <td key=${column.id} class=${`${column.num ? "num" : ""} ${column.rank ? `rank${column.rank}` : ""}`}
                >${column.cell(row)}</td>`)}
          </tr>`)}
        ${until < count && html`<tr aria-hidden="true" class="gap" key="below"
          style=${{ height: `${(count - until) * ROW}px` }}></tr>`}
      </tbody>
    </table></div>`;
}
