// The filter of lists: words of the name, `is:WORD`, and `field>1GiB`. For example `orders is:under-replicated size>1GiB`.

const UNITS = { "": 1, k: 1e3, m: 1e6, g: 1e9, b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40, s: 1, min: 60, h: 3600, d: 86_400 };
const COMPARISON = /^([a-z_]+):?(<=|>=|=|<|>)([0-9.]+)([a-z]*)$/i;

/** Whether the letters of a word occur in this order. @param {string} name @param {string} word */
function hasLetters(name, word) {
  let at = 0;
  for (const letter of word) {
    at = name.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

/**
 * Filters rows. Unknown fields and states are taken as words, so that no text is an error.
 * @param {any[]} rows
 * @param {string} text
 * @param {object} rules
 * @param {(row: any) => string} rules.name
 * @param {Record<string, (row: any) => number | null>} [rules.fields]
 * @param {Record<string, (row: any) => boolean>} [rules.states]
 */
export function filterRows(rows, text, { name, fields = {}, states = {} }) {
  /** @type {string[]} */
  const words = [];
  let left = rows;
  for (const term of text.trim().toLowerCase().split(/\s+/).filter(Boolean)) {
    const compared = COMPARISON.exec(term);
    const state = term.startsWith("is:") ? term.slice(3) : null;
    if (state !== null && states[state]) {
      left = left.filter(states[state]);
    } else if (compared && fields[compared[1]] && compared[4].toLowerCase() in UNITS) {
      const bound = Number(compared[3]) * UNITS[/** @type {keyof typeof UNITS} */ (compared[4].toLowerCase())];
      const read = fields[compared[1]];
      left = left.filter((row) => holds(read(row), compared[2], bound));
    } else {
      words.push(term);
    }
  }
  if (words.length === 0) return left;
  const exact = left.filter((row) => { const own = name(row).toLowerCase(); return words.every((word) => own.includes(word)); });
  if (exact.length > 0) return exact;
  return left.filter((row) => { const own = name(row).toLowerCase(); return words.every((word) => hasLetters(own, word)); });
}

/** @param {number | null} value @param {string} operator @param {number} bound */
function holds(value, operator, bound) {
  if (value === null || value === undefined) return false;
  switch (operator) {
    case "<": return value < bound;
    case "<=": return value <= bound;
    case ">": return value > bound;
    case ">=": return value >= bound;
    default: return value === bound;
  }
}
