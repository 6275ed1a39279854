// Login with a user of the Kafka cluster. The cluster's ACLs then decide what the session may see.
import { html, useState } from "../html.js";
import { api, loginNeeded, session } from "../api.js";
import { forgetAll } from "../data.js";
import { Note } from "../ui/parts.js";

export function Login() {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const { mechanisms, bootstrap_servers: servers } = session.value;
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const form = new FormData(/** @type {HTMLFormElement} */ (event.target));
    setBusy(true);
    setError("");
    try {
      const made = await api.post("/session", Object.fromEntries(form));
      forgetAll();
      session.value = made;
      loginNeeded.value = made.login === "needed";
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
      setBusy(false);
    }
  };
  return html`<main class="login"><form onSubmit=${submit}>
    <h1>pybroker <span class="quiet">${servers}</span></h1>
    <p class="quiet">Log in as a user of the cluster. You see what its ACLs let this user see.</p>
    ${mechanisms.length === 0 && html`<${Note} tone="warn" title="Nobody can log in now.">The cluster does not answer, or offers none of SCRAM and PLAIN.<//>`}
    ${error && html`<${Note} tone="bad" title="Not logged in.">${error}<//>`}
    <label>User <input name="user" required autofocus autocomplete="username" spellcheck=${false} /></label>
    <label>Password <input name="password" type="password" required autocomplete="current-password" /></label>
    <label>Mechanism <select name="mechanism">${mechanisms.map((/** @type {string} */ name) => html`<option key=${name}>${name}</option>`)}</select></label>
    <button type="submit" class="main" disabled=${busy || mechanisms.length === 0}>${busy ? "Logging in …" : "Log in"}</button>
  </form></main>`;
}
