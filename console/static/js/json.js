// Parses JSON without loss: numbers keep their digits (64-bit ids), objects keep the order and repeats of their names.

/**
 * @typedef {{kind: "object", entries: [string, Node][]} | {kind: "array", items: Node[]}
 *   | {kind: "string", text: string} | {kind: "number", text: string} | {kind: "word", text: string}} Node
 */
const MAX_DEPTH = 200;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*"/y;
const SPACE = /[ \t\n\r]*/y;
const WORD = /true|false|null/y;

class Parser {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /** @param {RegExp} pattern */
  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (!found) return null;
    this.at = pattern.lastIndex;
    return found[0];
  }

  /** @param {string} letter */
  skip(letter) {
    this.take(SPACE);
    if (this.text[this.at] !== letter) return false;
    this.at += 1;
    return true;
  }

  string() {
    this.take(SPACE);
    const found = this.take(STRING);
    if (found === null) throw new SyntaxError("not JSON");
    return JSON.parse(found);
  }

  /** @param {number} depth @returns {Node} */
  value(depth) {
    if (depth > MAX_DEPTH) throw new SyntaxError("too deep");
    this.take(SPACE);
    const first = this.text[this.at];
    if (first === '"') return { kind: "string", text: this.string() };
    if (this.skip("{")) return { kind: "object", entries: this.list("}", () => this.entry(depth)) };
    if (this.skip("[")) return { kind: "array", items: this.list("]", () => this.value(depth + 1)) };
    const word = this.take(WORD);
    if (word !== null) return { kind: "word", text: word };
    const number = this.take(NUMBER);
    if (number === null) throw new SyntaxError("not JSON");
    return { kind: "number", text: number };
  }

  /** @param {number} depth @returns {[string, Node]} */
  entry(depth) {
    const name = this.string();
    if (!this.skip(":")) throw new SyntaxError("not JSON");
    return [name, this.value(depth + 1)];
  }

  /** @template T @param {string} end @param {() => T} read @returns {T[]} */
  list(end, read) {
    /** @type {T[]} */
    const items = [];
    if (this.skip(end)) return items;
    do items.push(read()); while (this.skip(","));
    if (!this.skip(end)) throw new SyntaxError("not JSON");
    return items;
  }
}

/** @param {string} text @returns {Node | null} null: the text is not JSON */
export function parseJson(text) {
  const parser = new Parser(text);
  try {
    const node = parser.value(0);
    parser.take(SPACE);
    return parser.at === text.length ? node : null;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return null; // RangeError: too long for the engine
    throw error;
  }
}
