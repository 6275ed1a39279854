// Loads a view's data and keeps it fresh while the page is looked at.
import { useEffect, useRef, useState } from "./html.js";
import { api } from "./api.js";

/** Answers by path, so that a view that was seen before is drawn at once. Bounded. */
const seen = new Map();
const MAX_SEEN = 24;

/** @param {string} path @param {unknown} data */
function remember(path, data) {
  seen.delete(path);
  seen.set(path, data);
  if (seen.size > MAX_SEEN) seen.delete(seen.keys().next().value);
}

export function forgetAll() {
  seen.clear();
}

/**
 * Returns the last answer of a path, and asks again every `everyMs` (0: once) while the page is visible.
 * The old answer stays on the page when a later request fails; `error` then says why.
 * @param {string | null} path null: nothing is wanted now
 * @param {number} [everyMs]
 * @returns {{data: any, error: Error | null, refresh: () => void}}
 */
export function useData(path, everyMs = 0) {
  const [state, setState] = useState({ path, data: seen.get(path) ?? null, error: /** @type {Error | null} */ (null) });
  const again = useRef(() => {});
  useEffect(() => {
    if (path === null) return undefined;
    const abort = new AbortController();
    let timer = 0;
    let busy = false;
    const ask = async () => {
      clearTimeout(timer);
      if (busy) return;
      busy = true;
      try {
        const data = await api.get(path, abort.signal);
        remember(path, data);
        setState({ path, data, error: null });
      } catch (error) {
        if (abort.signal.aborted) return;
        setState((before) => ({
          path, data: before.path === path ? before.data : seen.get(path) ?? null, error: /** @type {Error} */ (error),
        }));
      } finally {
        busy = false;
      }
      if (everyMs > 0 && !abort.signal.aborted) timer = setTimeout(tick, everyMs);
    };
    const tick = () => { if (!document.hidden) ask(); };
    const shown = () => { if (everyMs > 0 && !document.hidden) ask(); };
    again.current = ask;
    document.addEventListener("visibilitychange", shown);
    ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [path, everyMs]);
  const current = state.path === path ? state : { data: seen.get(path) ?? null, error: null };
  return { data: path === null ? null : current.data, error: current.error, refresh: () => again.current() };
}
