// Explain: may this principal do this, and which ACL decides?
import { html, useState } from "../html.js";
import { path } from "../api.js";
import { useData } from "../data.js";
import { route, setQuery } from "../router.js";
import { CommandLine, Note, Waiting } from "../ui/parts.js";

const OPERATIONS = ["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"];
const RESOURCES = ["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID", "DELEGATION_TOKEN", "USER"];

/** @param {{asked: Record<string, string>}} props */
function Answer({ asked }) {
  const { data, error } = useData(path(["explain", "acl"], asked));
  if (!data) return html`<${Waiting} error=${error} what="the answer" />`;
  if (data.allowed === undefined || data.allowed === null) return html`<${Note} title="Not known.">${data.text ?? "Only a pybroker can explain its decision."}<//>`;
  return html`<${Note} tone=${data.allowed ? "" : "bad"} title=${data.allowed ? "Allowed." : "Denied."}>${`${asked.principal}, ${asked.operation} on ${asked.resource_type} ${asked.resource_name}`}<//>
    <pre tabindex="0" aria-label="Reason">${data.text}</pre><${CommandLine} cli=${data.cli} />`;
}

export function Explain() {
  const { query } = route.value;
  const [form, setForm] = useState({ principal: query.principal ?? "User:", host: query.host ?? "*", operation: query.operation ?? "READ", resource_type: query.resource_type ?? "TOPIC", resource_name: query.resource_name ?? "" });
  const field = (/** @type {string} */ name) => ({ name, value: form[/** @type {keyof typeof form} */ (name)], spellcheck: false,
    onInput: (/** @type {any} */ event) => setForm({ ...form, [name]: event.target.value }) });
  const asked = query.principal ? Object.fromEntries(Object.keys(form).map((name) => [name, query[name] ?? ""])) : null;
  return html`<h1>Explain</h1><p class="quiet">May this principal do this, and which ACL decides?</p>
    <form class="bar" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); setQuery(form); }}>
      <label class="inline">principal <input ...${field("principal")} required placeholder="User:alice" /></label>
      <label class="inline">from host <input ...${field("host")} class="place" /></label>
      <label class="inline">operation <select ...${field("operation")}>${OPERATIONS.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      <label class="inline">on <select ...${field("resource_type")} aria-label="Kind of resource">${RESOURCES.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      <label class="inline">named <input ...${field("resource_name")} placeholder="orders" /></label>
      <button type="submit">Explain</button></form>
    ${asked && html`<${Answer} asked=${asked} />`}`;
}
