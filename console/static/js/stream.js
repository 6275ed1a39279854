// Reads server-sent events by fetch, because EventSource hides the text of an error and reconnects by itself.
import { ApiError } from "./api.js";

const MAX_BUFFER = 32 << 20;

/**
 * Calls `heard` for each event until the stream ends or the signal aborts. Throws ApiError.
 * @param {string} path
 * @param {(event: string, data: any) => void} heard
 * @param {AbortSignal} signal
 */
export async function streamEvents(path, heard, signal) {
  const answer = await fetch(`/api${path}`, { signal, headers: { Accept: "text/event-stream" } });
  if (!answer.ok || !answer.body) {
    const problem = await answer.json().catch(() => ({}));
    throw new ApiError(answer.status, problem.error ?? `The console answered ${answer.status}.`, problem.code ?? null);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value.replaceAll("\r\n", "\n");
    if (rest.length > MAX_BUFFER) throw new ApiError(0, "An event of the stream is too long.", null);
    const events = rest.split("\n\n");
    rest = /** @type {string} */ (events.pop());
    for (const text of events) tell(text, heard);
  }
}

/** @param {string} text @param {(event: string, data: any) => void} heard */
function tell(text, heard) {
  let event = "message";
  const data = [];
  for (const line of text.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length > 0) heard(event, JSON.parse(data.join("\n")));
}
