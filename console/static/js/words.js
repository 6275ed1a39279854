// Words for what rows of the API say: retention, trouble of a topic, addresses.
import { bytes, counted, period } from "./format.js";

/** What a topic keeps, in words: "24 h, ≤ 4 GiB a partition". @param {any} row TopicRow */
export function keeps(row) {
  const parts = [];
  if (row.cleanup_policy?.includes("compact")) parts.push("compacted");
  if (row.cleanup_policy?.includes("delete")) {
    if (row.retention_ms !== null && row.retention_ms !== undefined) parts.push(period(row.retention_ms));
    if (row.retention_bytes !== null && row.retention_bytes !== undefined) parts.push(`≤ ${bytes(row.retention_bytes)} a partition`);
    if (row.retention_ms === null && row.retention_bytes === null) parts.push("for ever");
  }
  return parts.join(", ") || "–";
}

/** What is wrong with a topic; null when nothing is. @param {any} row TopicRow @returns {{tone: string, text: string} | null} */
export function troubleOf(row) {
  if (row.offline_partitions > 0) return { tone: "bad", text: `${counted(row.offline_partitions, "partition")} offline` };
  if (row.under_min_isr_partitions > 0) return { tone: "bad", text: `${counted(row.under_min_isr_partitions, "partition")} below min ISR` };
  if (row.under_replicated_partitions > 0) return { tone: "warn", text: `${counted(row.under_replicated_partitions, "partition")} under-replicated` };
  return null;
}

/** The tone of a lag in seconds. @param {number | null | undefined} seconds */
export function lagTone(seconds) {
  if (seconds === null || seconds === undefined || seconds < 30) return "";
  return seconds < 300 ? "warn" : "bad";
}

/** @param {any} broker */
export function addressOf(broker) {
  const endpoint = broker.endpoints?.[0];
  return endpoint ? `${endpoint.host}:${endpoint.port}` : "–";
}

/** Ranges of partitions: [0,1,2,5] → "0–2, 5". @param {number[]} numbers */
export function ranges(numbers) {
  const parts = [];
  const all = [...numbers].sort((a, b) => a - b);
  for (let index = 0; index < all.length; index += 1) {
    const from = all[index];
    while (all[index + 1] === all[index] + 1) index += 1;
    parts.push(from === all[index] ? `${from}` : from + 1 === all[index] ? `${from}, ${all[index]}` : `${from}–${all[index]}`);
  }
  return parts.join(", ");
}
