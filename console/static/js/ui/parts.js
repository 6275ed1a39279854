// Small parts that most pages use: chips, notes, figures, tabs, the command line of a view.
import { Component, html, useEffect, useRef, useState } from "../html.js";
import { UNKNOWN } from "../format.js";
import { to } from "../router.js";

/** Colour is for trouble only. */
/** @type {Map<string, [string, string]>} */
const VERDICTS = new Map([
  ["ok", ["ok", "good"]], ["catching_up", ["catching up", "good"]], ["falling_behind", ["falling behind", "warn"]],
  ["stalled", ["stalled", "bad"]], ["stopped", ["stopped", "bad"]], ["rewound", ["rewound", "warn"]],
]);

/** @param {{tone?: string, children?: any}} props */
export const Chip = ({ tone = "", children }) => html`<span class=${`chip ${tone}`}>${children}</span>`;

/** @param {{verdict: string | null | undefined}} props */
export function Verdict({ verdict }) {
  if (!verdict) return html`<span class="quiet">${UNKNOWN}</span>`;
  const [text, tone] = VERDICTS.get(verdict) ?? [verdict.replaceAll("_", " "), ""];
  return html`<${Chip} tone=${tone}>${text}<//>`;
}

/** A line that says what is wrong, or what there is to know. @param {any} props */
export const Note = ({ tone = "", title, children }) => html`
  <div class=${`note ${tone}`} role=${tone === "bad" ? "alert" : "status"}>
    ${title && html`<strong>${title}</strong> `}${children}
  </div>`;

/** What stands in a view's place while it loads or when loading failed. @param {any} props */
export function Waiting({ error, what }) {
  if (error) return html`<${Note} tone="bad" title=${`Could not load ${what}.`}>${error.message}<//>`;
  return html`<p class="quiet waiting" role="status">Loading ${what} …</p>`;
}

/** Says that shown data is old because the last request failed. @param {{error: Error | null}} props */
export const Stale = ({ error }) => (error
  ? html`<${Note} tone="warn" title="Not up to date.">${error.message}<//>` : null);

/** A figure with its name. @param {any} props */
export const Figure = ({ name, tone = "", children }) => html`
  <div class="figure"><dt>${name}</dt><dd class=${tone}>${children}</dd></div>`;

/** @param {any} props */
export const Figures = ({ children }) => html`<dl class="figures">${children}</dl>`;

/** A link to a thing by its name. Names "", "." and ".." cannot be part of an address. @param {any} props */
export const NameLink = ({ kind, name }) => (name === "" || name === "." || name === ".."
  ? html`<span class="name">${name === "" ? "(empty name)" : name}</span>`
  : html`<a class="name" href=${to([kind, name])} title=${name}>${name}</a>`);

/** @param {{tabs: [string, string, (string | number)?][], current: string}} props name of the tab, address, count */
export const Tabs = ({ tabs, current }) => html`
  <nav class="tabs" aria-label="Parts of this page">
    ${tabs.map(([name, address, number]) => html`
      <a key=${name} href=${address} aria-current=${name === current ? "page" : undefined}>
        ${name}${number === undefined ? null : html` <span class="quiet">${number}</span>`}
      </a>`)}
  </nav>`;

/** @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // a page without TLS beyond loopback has no clipboard
  }
}

/** The command line that shows or does the same as this view. @param {{cli: string | null | undefined}} props */
export function CommandLine({ cli }) {
  const [said, say] = useState("");
  const text = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!said) return undefined;
    const timer = setTimeout(() => say(""), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  if (!cli) return null;
  const press = async () => {
    if (await copy(cli)) {
      say("copied");
      return;
    }
    if (text.current) getSelection()?.selectAllChildren(text.current);
    say("selected: press Ctrl+C");
  };
  return html`
    <div class="cli">
      <code ref=${text}>${cli}</code>
      <button type="button" class="plain" onClick=${press}>copy as CLI line</button>
      <span class="quiet" role="status">${said}</span>
    </div>`;
}

/** A modal dialog; Esc closes it. @param {any} props */
export function Dialog({ title, onClose, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  useEffect(() => {
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    return () => element?.close();
  }, []);
  return html`
    <dialog ref=${dialog} aria-label=${title} onClose=${onClose} onCancel=${onClose}>
      <header><h2>${title}</h2><button type="button" class="plain" onClick=${onClose}>Close <kbd>Esc</kbd></button></header>
      ${children}
    </dialog>`;
}

const SPARK_POINTS = 40;

/** The mean of each of at most 40 parts; null where nothing is known. @param {(number | null)[]} values */
function thinned(values) {
  const size = Math.max(1, Math.ceil(values.length / SPARK_POINTS));
  return Array.from({ length: Math.ceil(values.length / size) }, (_, part) => {
    const known = /** @type {number[]} */ (values.slice(part * size, (part + 1) * size).filter((value) => value !== null));
    return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : null;
  });
}

/** A short line of the last hour. Null is a gap. @param {{values: (number | null)[], label: string}} props */
export function Spark({ values, label }) {
  const shown = thinned(values ?? []);
  const top = Math.max(...shown.map((value) => value ?? 0), 1e-9);
  const step = 120 / Math.max(1, shown.length - 1);
  let path = "";
  let pen = "M";
  shown.forEach((value, index) => {
    if (value === null) { pen = "M"; return; }
    path += `${pen}${(index * step).toFixed(1)} ${(18 - (value / top) * 16).toFixed(1)}`;
    pen = "L";
  });
  return path && html`<svg class="spark" viewBox="0 0 120 20" preserveAspectRatio="none" role="img" aria-label=${label}>
    <path d=${path} /></svg>`;
}

/** Shows an error of a view in its place, so that the rest of the page goes on. */
export class Guard extends Component {
  constructor() {
    super();
    this.state = { error: /** @type {Error | null} */ (null) };
  }

  /** @param {Error} error */
  static getDerivedStateFromError(error) {
    return { error };
  }

  /** @param {Error} error */
  componentDidCatch(error) {
    console.error(error);
  }

  render() {
    const { error } = /** @type {any} */ (this.state);
    return error ? html`<${Note} tone="bad" title="This view failed.">${String(error.message)}<//>` : /** @type {any} */ (this.props).children;
  }
}
