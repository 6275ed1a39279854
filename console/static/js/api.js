// Talks to the console's own JSON API. Nothing else is ever requested.
import { signal } from "./html.js";
import { to } from "./router.js";

/** An answer of the API that is no success. */
export class ApiError extends Error {
  /** @param {number} status @param {string} text @param {string | null} code */
  constructor(status, text, code) {
    super(text);
    this.status = status;
    this.code = code;
  }
}

/** The session object of `/api/session`; null until it is known. */
export const session = signal(/** @type {any} */ (null));
/** Whether a request found that a login is needed. */
export const loginNeeded = signal(false);

/**
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, signal?: AbortSignal, text?: boolean}} [options]
 */
async function request(method, path, options = {}) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (method !== "GET") headers["X-Pybroker-Console"] = "1";
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(`/api${path}`, {
      method, headers, signal: options.signal,
      body: options.body === undefined ? undefined : JSON.stringify(options.body),
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError(0, "The console does not answer. Is it still running?", null);
  }
  if (answer.ok) {
    if (options.text) return answer.text();
    return answer.status === 204 ? null : answer.json();
  }
  const problem = await answer.json().catch(() => ({}));
  if (answer.status === 401 && path !== "/session") loginNeeded.value = true;
  throw new ApiError(answer.status, problem.error ?? `The console answered ${answer.status}.`, problem.code ?? null);
}

export const api = {
  /** @param {string} path @param {AbortSignal} [signal] */
  get: (path, signal) => request("GET", path, { signal }),
  /** @param {string} path @param {AbortSignal} [signal] */
  text: (path, signal) => request("GET", path, { signal, text: true }),
  /** @param {string} path @param {unknown} body */
  post: (path, body) => request("POST", path, { body }),
  /** @param {string} path @param {unknown} [body] */
  delete: (path, body) => request("DELETE", path, { body }),
};

/** Makes the path of an API request; every part is escaped. */
export const path = to;

export async function refreshSession() {
  session.value = await api.get("/session");
  loginNeeded.value = session.value.login === "needed";
}
