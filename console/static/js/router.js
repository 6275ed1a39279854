// Client-side routes: the address of a view holds all that is needed to show it again (tab, filter, sort order).
import { signal } from "./html.js";

/** @typedef {{path: string, parts: string[], query: Record<string, string>}} Route */

/** @returns {Route} */
function read() {
  const query = Object.fromEntries(new URLSearchParams(location.search));
  const parts = location.pathname.split("/").filter((part) => part !== "").map(decode);
  return { path: location.pathname, parts, query };
}

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Escapes one part of an address. Halves of characters, which have no UTF-8, are replaced. @param {string | number} part */
export function escaped(part) {
  const text = String(part);
  try {
    return encodeURIComponent(text);
  } catch {
    return encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\ufffd"));
  }
}

export const route = signal(read());

/**
 * Makes an address within the console. Every part is escaped, so names of strangers can't lead elsewhere.
 * @param {(string | number)[]} parts
 * @param {Record<string, string | number | null | undefined>} [query]
 */
export function to(parts, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const search = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString();
  return `/${parts.map(escaped).join("/")}${search ? `?${search}` : ""}`;
}

/** @param {string} address */
export function go(address) {
  if (address === location.pathname + location.search) return;
  history.pushState(null, "", address);
  route.value = read();
  scrollTo(0, 0);
}

/**
 * Changes the query of the present address without a new entry in the history.
 * @param {Record<string, string | number | null | undefined>} changes
 */
export function setQuery(changes) {
  history.replaceState(null, "", to(route.value.parts, { ...route.value.query, ...changes }));
  route.value = read();
}

addEventListener("popstate", () => { route.value = read(); });
addEventListener("click", (event) => {
  const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
  if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.hasAttribute("download") || link.target) return;
  if (link.hash) return;
  event.preventDefault();
  go(link.pathname + link.search);
});
