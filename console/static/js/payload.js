// Keys, values and header values as the API gives them: `{size, text, base64, cut}` or null.

/** @typedef {{size: number, text: string | null, base64: string | null, cut: boolean} | null} Payload */

/** @param {Payload} payload @returns {Uint8Array} the shown part */
export function bytesOf(payload) {
  if (payload === null) return new Uint8Array();
  if (payload.text !== null) return new TextEncoder().encode(payload.text);
  return Uint8Array.from(atob(payload.base64 ?? ""), (letter) => letter.charCodeAt(0));
}

/** One line for a list: the text, or the first bytes as hex. @param {Payload} payload */
export function lineOf(payload) {
  if (payload === null) return "null";
  if (payload.text !== null) return payload.text + (payload.cut ? " …" : "");
  const shown = [...bytesOf(payload).slice(0, 32)].map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
  return `${shown}${payload.size > 32 ? " …" : ""}`;
}

/** A dump like `hexdump -C`. @param {Uint8Array} bytes */
export function hexDump(bytes) {
  const lines = [];
  for (let at = 0; at < bytes.length; at += 16) {
    const part = [...bytes.subarray(at, at + 16)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ").padEnd(47);
    const text = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : ".")).join("");
    lines.push(`${at.toString(16).padStart(8, "0")}  ${hex}  ${text}`);
  }
  return lines.join("\n");
}
