// A key, value or header value: as a JSON tree, as text, or as hex.
import { html, useMemo, useState } from "../html.js";
import { bytes } from "../format.js";
import { parseJson } from "../json.js";
import { bytesOf, hexDump } from "../payload.js";
import { JsonTree } from "./jsontree.js";

/**
 * @param {object} props
 * @param {string} props.title
 * @param {import("../payload.js").Payload} props.payload
 * @param {string} [props.address] where the whole bytes can be downloaded
 * @param {string | null} [props.hash]
 * @param {string | null} [props.whole] the whole text, if it was asked for because the shown part is cut
 * @param {() => void} [props.onWhole]
 */
export function PayloadView({ title, payload, address, hash, whole, onWhole }) {
  const text = whole ?? payload?.text ?? null;
  const node = useMemo(() => (text === null || (payload?.cut && !whole) ? null : parseJson(text)), [text, whole]);
  const choices = [...(node ? ["JSON"] : []), ...(text !== null ? ["text"] : []), "hex"];
  const [chosen, choose] = useState("");
  const form = choices.includes(chosen) ? chosen : choices[0];
  if (payload === null) return html`<section><h3>${title}</h3><p class="quiet">null</p></section>`;
  return html`<section class="payload"><h3>${title} <span class="quiet">${bytes(payload.size)}</span>
      <span class="choice" role="group" aria-label=${`Show ${title} as`}>${choices.map((each) => html`<button key=${each} type="button" class="plain"
        aria-pressed=${String(each === form)} onClick=${() => choose(each)}>${each}</button>`)}</span>
      ${address && html`<a href=${address} download class="right">download</a>`}</h3>
    ${form === "JSON" && node ? html`<${JsonTree} node=${node} />`
      : html`<pre tabindex="0" aria-label=${title}>${form === "hex" ? hexDump(bytesOf(payload)) : text}</pre>`}
    ${payload.cut && !whole && html`<p class="quiet">Only the first ${bytes(bytesOf(payload).length)} of ${bytes(payload.size)} are shown.
      ${onWhole && payload.text !== null && payload.size <= 1 << 20 && html` <button type="button" class="plain" onClick=${onWhole}>show all</button>`}</p>`}
    ${hash && html`<p class="quiet mono hash">SHA-256 ${hash}</p>`}
  </section>`;
}
