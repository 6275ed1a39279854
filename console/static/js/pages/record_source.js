// Where the shown records come from: a page, a search or a live tail. One request at a time; a new one ends the old.
import { useEffect, useRef, useState } from "../html.js";
import { api, path } from "../api.js";
import { streamEvents } from "../stream.js";

const MOST_LIVE = 500;
const PAGE = 100;
const NOTHING = { state: "idle", records: /** @type {any[]} */ ([]), progress: /** @type {any} */ (null), error: "", cli: "",
  next: /** @type {string | null} */ (null), previous: /** @type {string | null} */ (null), skipped: 0, paused: false, fresh: 0 };

/**
 * @param {string} topic
 * @param {{query: string, partitions: string, from: string}} wanted
 */
export function useRecords(topic, { query, partitions, from }) {
  const [shown, setShown] = useState(NOTHING);
  const abort = useRef(new AbortController());
  const held = useRef(/** @type {any[]} */ ([]));
  const paused = useRef(false);

  const begin = (/** @type {string} */ state) => {
    abort.current.abort();
    abort.current = new AbortController();
    held.current = [];
    paused.current = false;
    setShown((old) => ({ ...NOTHING, state, cli: old.cli }));
    return abort.current.signal;
  };
  const failed = (/** @type {AbortSignal} */ signal) => (/** @type {Error} */ error) => {
    if (!signal.aborted) setShown((old) => ({ ...old, state: "idle", error: error.message }));
  };
  const page = async () => {
    const signal = begin("loading");
    const answer = await api.get(path(["topics", topic, "records"], { partitions, from: from || "-100", limit: PAGE }), signal).catch(failed(signal));
    if (answer) setShown({ ...NOTHING, records: answer.records, next: answer.next, previous: answer.previous, cli: answer.cli ?? "" });
  };
  const search = async () => {
    const signal = begin("searching");
    /** @type {any[]} */
    const hits = [];
    const heard = (/** @type {string} */ event, /** @type {any} */ data) => {
      if (signal.aborted) return;
      if (event === "hit") hits.push(data);
      else if (event === "progress") setShown((old) => ({ ...old, records: [...hits], progress: data }));
      else if (event === "done") setShown((old) => ({ ...old, state: "idle", records: [...hits], progress: data, next: data.resume, cli: data.cli ?? old.cli }));
      else if (event === "problem") setShown((old) => ({ ...old, state: "idle", error: data.error }));
    };
    await streamEvents(path(["topics", topic, "search"], { query, partitions, from: from || "earliest", limit: PAGE }), heard, signal).catch(failed(signal));
    if (!signal.aborted) setShown((old) => ({ ...old, state: "idle", records: hits }));
  };
  const live = async () => {
    const signal = begin("live");
    const heard = (/** @type {string} */ event, /** @type {any} */ data) => {
      if (signal.aborted) return;
      if (event === "problem") setShown((old) => ({ ...old, state: "idle", error: data.error }));
      if (event !== "records") return;
      held.current = [...[...data.records].reverse(), ...held.current].slice(0, MOST_LIVE);
      setShown((old) => ({ ...old, progress: data, skipped: old.skipped + data.skipped, ...(paused.current
        ? { fresh: Math.min(MOST_LIVE, old.fresh + data.records.length) } : { records: held.current, fresh: 0 }) }));
    };
    await streamEvents(path(["topics", topic, "tail"], { query, partitions, from: "latest" }), heard, signal).catch(failed(signal));
    if (!signal.aborted) setShown((old) => ({ ...old, state: "idle", error: old.error || "The stream has ended." }));
  };
  const again = () => (query ? search() : page());
  useEffect(() => { again(); }, [topic, query, partitions, from]);
  useEffect(() => () => abort.current.abort(), []);
  return {
    ...shown, again, live,
    stop: () => { abort.current.abort(); setShown((old) => ({ ...old, state: "idle" })); },
    pause: () => {
      paused.current = !paused.current;
      setShown((old) => ({ ...old, paused: paused.current, ...(paused.current ? {} : { records: held.current, fresh: 0 }) }));
    },
  };
}
