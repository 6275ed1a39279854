// JSON as a tree that opens and closes. Only open parts exist on the page, and long lists come in pieces.
import { html, useState } from "../html.js";

const PIECE = 100;
const OPEN_DEPTH = 3;
const MAX_TEXT = 20_000;

/** @param {import("../json.js").Node} node */
function childrenOf(node) {
  if (node.kind === "object") return node.entries;
  if (node.kind === "array") return node.items.map((item, index) => /** @type {[string, any]} */ ([String(index), item]));
  return null;
}

/** @param {any} node */
function Leaf({ node }) {
  const text = node.kind === "string" ? JSON.stringify(node.text.slice(0, MAX_TEXT)) : node.text;
  return html`<span class=${`json-${node.kind}`}>${text}</span>${node.text.length > MAX_TEXT && html`<span class="quiet"> … ${node.text.length} characters</span>`}`;
}

/** @param {{name: string | null, node: import("../json.js").Node, depth: number}} props */
function Branch({ name, node, depth }) {
  const children = childrenOf(node);
  const [open, setOpen] = useState(depth < OPEN_DEPTH);
  const [shown, setShown] = useState(PIECE);
  const label = name === null ? null : html`<span class="json-name">${name}</span>: `;
  if (children === null || children.length === 0) {
    return html`<li>${label}${children === null ? html`<${Leaf} node=${node} />` : node.kind === "object" ? "{}" : "[]"}</li>`;
  }
  const [begin, end] = node.kind === "object" ? "{}" : "[]";
  return html`<li>
    <button type="button" class="fold" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${label}${begin}${open ? "" : html` <span class="quiet">${children.length}</span> ${end}`}</button>
    ${open && html`<ul>${children.slice(0, shown).map(([key, child], index) => html`<${Branch} key=${index} name=${key} node=${child} depth=${depth + 1} />`)}
      ${children.length > shown && html`<li><button type="button" class="plain" onClick=${() => setShown(shown + 10 * PIECE)}>${children.length - shown} more</button></li>`}</ul>${end}`}
  </li>`;
}

/** @param {{node: import("../json.js").Node}} props */
export const JsonTree = ({ node }) => html`<ul class="json"><${Branch} name=${null} node=${node} depth=${0} /></ul>`;
