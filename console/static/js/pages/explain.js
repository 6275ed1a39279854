// Explain: may this principal do this, and which ACL decides?
import { html, useState } from "../html.js";
import { path } from "../api.js";
import { useData } from "../data.js";
import { route, setQuery } from "../router.js";
import { CommandLine, Note, Waiting } from "../ui/parts.js";

/** The operations of each kind of resource. @type {Record<string, string[]>} */
const OPERATIONS = {
  TOPIC: ["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"],
  GROUP: ["READ", "DELETE", "DESCRIBE"],
  CLUSTER: ["CREATE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "IDEMPOTENT_WRITE"],
  TRANSACTIONAL_ID: ["WRITE", "DESCRIBE"],
  DELEGATION_TOKEN: ["DESCRIBE"],
  USER: ["CREATE_TOKENS", "DESCRIBE_TOKENS"],
};
const CLUSTER = "kafka-cluster";

/** @param {{asked: Record<string, string>}} props */
function Answer({ asked }) {
  const { data, error } = useData(path(["explain", "acl"], asked));
  if (!data) return html`<${Waiting} error=${error} what="the answer" />`;
  const title = data.allowed === null ? "Not known." : data.allowed ? "Allowed." : "Denied.";
  return html`<${Note} tone=${data.allowed === false ? "bad" : ""} title=${title}>${`${asked.principal}, ${asked.operation} on ${asked.resource_type} ${asked.resource_name}`}<//>
    <pre tabindex="0" aria-label="Reason">${data.text}</pre><${CommandLine} cli=${data.cli} />`;
}

export function Explain() {
  const { query } = route.value;
  const [form, setForm] = useState({ principal: query.principal ?? "User:", host: query.host ?? "*", operation: query.operation ?? "READ", resource_type: query.resource_type ?? "TOPIC", resource_name: query.resource_name ?? "" });
  const operations = OPERATIONS[form.resource_type] ?? [];
  const isCluster = form.resource_type === "CLUSTER";
  const change = (/** @type {string} */ name, /** @type {string} */ value) => {
    const next = { ...form, [name]: value };
    const known = OPERATIONS[next.resource_type] ?? [];
    if (!known.includes(next.operation)) next.operation = known[0] ?? "";
    if (name === "resource_type" && (value === "CLUSTER") !== isCluster) next.resource_name = value === "CLUSTER" ? CLUSTER : "";
    setForm(next);
  };
  const field = (/** @type {string} */ name) => ({ name, value: form[/** @type {keyof typeof form} */ (name)], spellcheck: false,
    onInput: (/** @type {any} */ event) => change(name, event.target.value) });
  const asked = query.principal ? Object.fromEntries(Object.keys(form).map((name) => [name, query[name] ?? ""])) : null;
  return html`<h1>Explain</h1><p class="quiet">May this principal do this, and which ACL decides?</p>
    <form class="bar" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); setQuery(form); }}>
      <label class="inline">principal <input ...${field("principal")} required placeholder="User:alice" /></label>
      <label class="inline">from host <input ...${field("host")} class="place" /></label>
      <label class="inline">operation <select ...${field("operation")}>${operations.map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      <label class="inline">on <select ...${field("resource_type")} aria-label="Kind of resource">${Object.keys(OPERATIONS).map((each) => html`<option key=${each}>${each}</option>`)}</select></label>
      <label class="inline">named <input ...${field("resource_name")} required disabled=${isCluster} placeholder="orders" /></label>
      <button type="submit">Explain</button></form>
    ${asked && html`<${Answer} asked=${asked} />`}`;
}
