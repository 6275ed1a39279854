// Keyboard shortcuts. A view registers its keys while it is on the page; the newest registration wins.
import { useEffect } from "./html.js";

/** @typedef {Record<string, (event: KeyboardEvent) => void>} Keys "j", "Enter", or a sequence: "g t" */

/** @type {Keys[]} */
const layers = [];
const SEQUENCE_MS = 1200;
let first = "";
let firstAt = 0;

/** @param {EventTarget | null} target */
function takesText(target) {
  return target instanceof HTMLElement
    && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.querySelector("dialog[open]") || (takesText(event.target) && event.key !== "Escape")) return;
  // A focused control handles its own activation.
  const on = event.target instanceof Element && event.target.closest("button, a, summary");
  if (on && (event.key === "Enter" || event.key === " ")) return;
  const sequence = event.timeStamp - firstAt < SEQUENCE_MS && first ? `${first} ${event.key}` : "";
  const name = [sequence, event.key].find((each) => each && layers.some((layer) => each in layer));
  first = sequence && name === sequence ? "" : event.key;
  firstAt = event.timeStamp;
  if (!name) return;
  for (let index = layers.length - 1; index >= 0; index -= 1) {
    if (name in layers[index]) {
      event.preventDefault();
      layers[index][name](event);
      return;
    }
  }
});

/** Registers keys while the calling component is shown. @param {Keys} keys @param {unknown[]} uses */
export function useKeys(keys, uses) {
  useEffect(() => {
    layers.push(keys);
    return () => { layers.splice(layers.indexOf(keys), 1); };
  }, uses);
}
