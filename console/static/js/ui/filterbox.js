// The field that filters a list. "/" leads to it, and the address keeps its text.
import { html, useRef } from "../html.js";
import { useKeys } from "../keys.js";
import { route, setQuery } from "../router.js";

/** @param {{label: string, hint: string}} props */
export function FilterBox({ label, hint }) {
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  useKeys({ "/": () => field.current?.select() }, []);
  return html`<input ref=${field} class="filter" type="search" aria-label=${label} placeholder=${hint} spellcheck=${false}
    autocomplete="off" value=${route.value.query.filter ?? ""}
    onInput=${(/** @type {any} */ event) => setQuery({ filter: event.target.value })}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => { if (event.key === "Escape" || event.key === "Enter") field.current?.blur(); }} />`;
}
