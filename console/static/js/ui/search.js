// The search box of the header: topics, groups and brokers by name.
import { html, useRef, useState } from "../html.js";
import { useData } from "../data.js";
import { useKeys } from "../keys.js";
import { go, to } from "../router.js";
import { filterRows } from "../listfilter.js";

const MOST = 12;

/** @param {any} topics @param {any} groups @param {any} brokers @param {string} text */
function matches(topics, groups, brokers, text) {
  const all = [
    ...(topics?.items ?? []).map((/** @type {any} */ row) => ({ kind: "topic", name: row.topic, address: to(["topics", row.topic]) })),
    ...(groups?.items ?? []).map((/** @type {any} */ row) => ({ kind: "group", name: row.group, address: to(["groups", row.group]) })),
    ...(brokers?.items ?? []).map((/** @type {any} */ row) => ({
      kind: "broker", name: `${row.id} ${row.endpoints[0]?.host ?? ""}`, address: to(["brokers", row.id]) })),
  ].filter((each) => each.name !== "" && each.name !== "." && each.name !== "..");
  const found = filterRows(all, text, { name: (each) => each.name });
  return found.sort((a, b) => a.name.length - b.name.length).slice(0, MOST);
}

export function Search() {
  const [text, setText] = useState("");
  const [active, setActive] = useState(false);
  const [chosen, setChosen] = useState(0);
  const field = useRef(/** @type {HTMLInputElement | null} */ (null));
  const { data: topics } = useData(active ? "/topics" : null);
  const { data: groups } = useData(active ? "/groups" : null);
  const { data: brokers } = useData(active ? "/brokers" : null);
  useKeys({ "/": () => field.current?.focus() }, []);
  const found = active && text ? matches(topics, groups, brokers, text) : [];
  const open = (/** @type {string} */ address) => {
    setText("");
    field.current?.blur();
    go(address);
  };
  const press = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "ArrowDown") setChosen(Math.min(found.length - 1, chosen + 1));
    else if (event.key === "ArrowUp") setChosen(Math.max(0, chosen - 1));
    else if (event.key === "Enter" && found[chosen]) open(found[chosen].address);
    else if (event.key === "Escape") { setText(""); field.current?.blur(); } else return;
    event.preventDefault();
  };
  return html`<div class="search">
    <input ref=${field} type="search" role="combobox" aria-label="Find a topic, group or broker" placeholder="Find topic, group, broker …"
      aria-expanded=${String(found.length > 0)} aria-controls="found" aria-autocomplete="list" spellcheck=${false} autocomplete="off"
      aria-activedescendant=${found[chosen] ? `found-${chosen}` : undefined} value=${text}
      onFocus=${() => setActive(true)} onBlur=${() => setActive(false)} onKeyDown=${press}
      onInput=${(/** @type {any} */ event) => { setText(event.target.value); setChosen(0); }} />
    <ul id="found" role="listbox" aria-label="Found" hidden=${found.length === 0}>${found.map((each, index) => html`
      <li key=${each.address} id=${`found-${index}`} role="option" aria-selected=${String(index === chosen)}
        onMouseDown=${(/** @type {MouseEvent} */ event) => { event.preventDefault(); open(each.address); }}>
        <span class="name">${each.name}</span> <span class="quiet">${each.kind}</span></li>`)}</ul>
  </div>`;
}
