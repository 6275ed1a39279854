// A write: it shows the equal command line before the button is pressed, and what came of it after.
import { html, useEffect, useRef, useState } from "../html.js";
import { CommandLine, Dialog, Note } from "./parts.js";

/**
 * @param {object} props
 * @param {string} props.title
 * @param {string} props.verb the text of the button
 * @param {() => Promise<any>} props.plan asks for `{cli}` without doing anything
 * @param {() => Promise<any>} props.act does it
 * @param {(answer: any) => any} [props.said] what is shown afterwards
 * @param {unknown[]} props.inputs a change of these asks for a new plan
 * @param {boolean} [props.ready] whether the inputs are complete
 * @param {boolean} [props.danger]
 * @param {() => void} props.onClose
 * @param {any} [props.children]
 */
export function Action({ title, verb, plan, act, said, inputs, ready = true, danger = false, onClose, children }) {
  const [cli, setCli] = useState("");
  const [error, setError] = useState("");
  const [done, setDone] = useState(/** @type {any} */ (null));
  const [busy, setBusy] = useState(false);
  const timer = useRef(0);
  useEffect(() => {
    setError("");
    let gone = false;
    timer.current = setTimeout(() => plan().then(
      (answer) => { if (!gone) setCli(answer.cli); },
      (problem) => { if (!gone) { setCli(""); setError(problem.message); } },
    ), 200);
    return () => { gone = true; clearTimeout(timer.current); };
  }, inputs);
  const press = async (/** @type {Event} */ event) => {
    event.preventDefault();
    clearTimeout(timer.current);
    setBusy(true);
    setError("");
    try {
      setDone(await act());
    } catch (problem) {
      setError(/** @type {Error} */ (problem).message);
    }
    setBusy(false);
  };
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${press}>
      ${children}
      ${error && html`<${Note} tone="bad" title="Not possible.">${error}<//>`}
      <${CommandLine} cli=${done?.cli ?? cli} />
      ${done ? html`<${Note} title="Done.">${said?.(done)}<//>`
        : html`<button type="submit" class=${danger ? "main danger" : "main"} disabled=${!ready || busy}>${busy ? "Working …" : verb}</button>`}
    </form><//>`;
}

/** Deletes a thing whose name must be typed. @param {any} props */
export function Delete({ kind, name, send, onClose, onDone }) {
  const [typed, setTyped] = useState("");
  return html`<${Action} title=${`Delete the ${kind} ${name}`} verb=${`Delete the ${kind}`} danger ready=${typed === name} inputs=${[name]}
    plan=${() => send({ dry_run: true })} act=${async () => { const answer = await send({ confirm: typed }); onDone?.(); return answer; }}
    said=${() => `The ${kind} is deleted.`} onClose=${onClose}>
    <p>This can't be undone.</p>
    <label>Type the name of the ${kind} <input value=${typed} autocomplete="off" spellcheck=${false} placeholder=${name}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label><//>`;
}
