// Numbers, sizes, times and durations as people read them. Null is a dash: "not known".
const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
export const UNKNOWN = "–";

/** @param {number | null | undefined} value */
export function count(value) {
  return value === null || value === undefined ? UNKNOWN : GROUPED.format(value);
}

/** @param {number} value @param {number} digits */
function digitsOf(value, digits) {
  return value.toFixed(value >= 100 || Number.isInteger(value) ? 0 : digits);
}

/** 18,400 → "18.4 K". @param {number | null | undefined} value */
export function short(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const size = Math.abs(value);
  if (size < 1000) return size !== 0 && size < 10 ? digitsOf(value, 1) : value.toFixed(0);
  const step = size < 999_500 ? 0 : size < 999_500_000 ? 1 : size < 999_500_000_000 ? 2 : 3;
  return `${digitsOf(value / 1000 ** (step + 1), 1)} ${"KMGT"[step]}`;
}

/** @param {number | null | undefined} value */
export function bytes(value) {
  if (value === null || value === undefined) return UNKNOWN;
  if (Math.abs(value) < 1024) return `${value.toFixed(0)} B`;
  const step = Math.min(4, Math.floor(Math.log2(Math.abs(value)) / 10));
  return `${digitsOf(value / 1024 ** step, 1)} ${["KiB", "MiB", "GiB", "TiB"][step - 1]}`;
}

/** @param {number | null | undefined} value bytes a second */
export function byteRate(value) {
  return value === null || value === undefined ? UNKNOWN : `${bytes(value)}/s`;
}

/** @param {number | null | undefined} value milliseconds that a request took */
export function millis(value) {
  if (value === null || value === undefined) return UNKNOWN;
  return value >= 999.5 ? duration(value) : `${value < 10 ? digitsOf(value, 1) : count(value)} ms`;
}

/** A duration with its two largest units: "6 m 31 s". @param {number | null | undefined} ms @returns {string} */
export function duration(ms) {
  if (ms === null || ms === undefined) return UNKNOWN;
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return "0";
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 60) return `${s} s`;
  if (s < 3600) return pair(Math.floor(s / 60), "m", s % 60, "s");
  if (s < 86_400) return pair(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "m");
  if (s < 30 * 86_400) return pair(Math.floor(s / 86_400), "d", Math.floor((s % 86_400) / 3600), "h");
  const days = Math.round(s / 86_400);
  return days < 730 ? `${days} d` : `${Math.round(days / 365)} years`;
}

/** A duration in seconds. @param {number | null | undefined} value */
export function seconds(value) {
  return duration(value === null || value === undefined ? null : value * 1000);
}

/** @param {number} large @param {string} unit @param {number} small @param {string} part */
function pair(large, unit, small, part) {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${part}`;
}

/** A setting's duration in words: "7 days". @param {number} ms */
export function period(ms) {
  for (const [size, one, many] of /** @type {[number, string, string][]} */ ([
    [31_536_000_000, "year", "years"], [86_400_000, "day", "days"], [3_600_000, "h", "h"], [60_000, "min", "min"],
    [1000, "s", "s"],
  ])) {
    if (ms >= size && ms % size === 0) return `${ms / size} ${ms === size ? one : many}`;
  }
  return ms < 1000 ? `${ms} ms` : duration(ms);
}

/** @param {number} value @param {number} [size] */
const padded = (value, size = 2) => String(value).padStart(size, "0");

/** @param {number | null | undefined} ms */
export function clock(ms, withMillis = false) {
  if (ms === null || ms === undefined) return UNKNOWN;
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const text = `${padded(at.getHours())}:${padded(at.getMinutes())}:${padded(at.getSeconds())}`;
  return withMillis ? `${text}.${padded(at.getMilliseconds(), 3)}` : text;
}

/** @param {number | null | undefined} ms */
export function dateTime(ms, withMillis = false) {
  if (ms === null || ms === undefined) return UNKNOWN;
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  return `${at.getFullYear()}-${padded(at.getMonth() + 1)}-${padded(at.getDate())} ${clock(ms, withMillis)}`;
}

/** A time for a field of the kind datetime-local; "" for no time. Text without a zone is UTC. @param {string} text milliseconds, or ISO 8601 */
export function localTime(text) {
  const ms = /^\d+$/.test(text) ? Number(text) : Date.parse(/(Z|[+-]\d\d:?\d\d)$/.test(text) ? text : `${text}Z`);
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return "";
  return `${at.getFullYear()}-${padded(at.getMonth() + 1)}-${padded(at.getDate())}T${clock(ms)}`;
}

/** The time of today, else date and time. @param {number | null | undefined} ms */
export function moment(ms, withMillis = false) {
  if (ms === null || ms === undefined) return UNKNOWN;
  return new Date(ms).toDateString() === new Date().toDateString() ? clock(ms, withMillis) : dateTime(ms, withMillis);
}

/** @param {number | null | undefined} share 0 to 1 */
export function percent(share) {
  return share === null || share === undefined ? UNKNOWN : `${(share * 100).toFixed(0)} %`;
}

/** "1 group", "3 groups". @param {number} number @param {string} noun */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}
