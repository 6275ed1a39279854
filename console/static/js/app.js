// The frame of all pages: navigation, search, keys, login, and the choice of the page by the address.
import { html, useEffect, useState, signal } from "./html.js";
import { api, loginNeeded, refreshSession, session } from "./api.js";
import { forgetAll, useData } from "./data.js";
import { useKeys } from "./keys.js";
import { go, route, to } from "./router.js";
import { Search } from "./ui/search.js";
import { Dialog, Guard, Note } from "./ui/parts.js";
import { counted } from "./format.js";
import { Overview } from "./pages/overview.js";
import { Topics } from "./pages/topics.js";
import { Topic } from "./pages/topic.js";
import { Groups } from "./pages/groups.js";
import { Group } from "./pages/group.js";
import { Brokers } from "./pages/brokers.js";
import { Broker } from "./pages/broker.js";
import { Requests } from "./pages/requests.js";
import { Settings } from "./pages/settings.js";
import { Explain } from "./pages/explain.js";
import { Login } from "./pages/login.js";

/** @type {[string, string, string][]} name, first part of the address, key after g */
const PLACES = [
  ["Overview", "", "o"], ["Topics", "topics", "t"], ["Groups", "groups", "g"], ["Brokers", "brokers", "b"],
  ["Requests", "requests", "r"], ["Settings", "settings", "s"], ["Explain", "explain", "e"],
];
const helpShown = signal(false);

function page() {
  const [first = "", name, tab] = route.value.parts;
  switch (first) {
    case "": return ["Overview", html`<${Overview} />`];
    case "topics": return name === undefined ? ["Topics", html`<${Topics} />`]
      : [name, html`<${Topic} key=${name} name=${name} tab=${tab ?? "partitions"} />`];
    case "groups": return name === undefined ? ["Groups", html`<${Groups} />`]
      : [name, html`<${Group} key=${name} name=${name} />`];
    case "brokers": return name === undefined || name === "matrix" ? ["Brokers", html`<${Brokers} tab=${name ?? "list"} />`]
      : [`Broker ${name}`, html`<${Broker} key=${name} id=${name} />`];
    case "requests": return ["Requests", html`<${Requests} tab=${name ?? "slow"} />`];
    case "settings": return ["Settings", html`<${Settings} />`];
    case "explain": return ["Explain", html`<${Explain} />`];
    default: return ["Not found", html`<h1>Nothing is here</h1><p>No page has the address ${route.value.path}. <a href="/">Go to the overview</a>.</p>`];
  }
}

function Keys() {
  const rows = [
    ["/", "find a topic, group or broker; on a list: filter it"], ...PLACES.map(([name, , key]) => [`g ${key}`, `go to ${name}`]),
    ["j  k", "next row, previous row"], ["Enter", "open the chosen row"], ["?", "this list"], ["Esc", "close, or leave a field"],
  ];
  return html`<${Dialog} title="Keys" onClose=${() => { helpShown.value = false; }}>
    <table class="keys"><tbody>${rows.map(([keys, text]) => html`<tr key=${keys}><td>${keys.split(" ").filter(Boolean).map((key) => html`<kbd>${key}</kbd> `)}</td>
      <td>${text}</td></tr>`)}</tbody></table><//>`;
}

function User() {
  const { user, writes, login } = session.value;
  const leave = async () => {
    await api.delete("/session").catch(() => null);
    forgetAll();
    await refreshSession();
  };
  return html`<span class="user">${user ? `User:${user}` : "no login"} · ${writes ? html`<b class="warn">writes allowed</b>` : "read-only"}
    ${login === "done" && html` <button type="button" class="plain" onClick=${leave}>log out</button>`}</span>`;
}

function Header() {
  const { data: cluster } = useData("/cluster", 5000);
  const first = route.value.parts[0] ?? "";
  return html`<header class="top">
    <a href="/" class="brand">pybroker</a>
    <span class="cluster quiet" title=${session.value.bootstrap_servers}>${cluster
      ? `${cluster.cluster_id} · ${counted(cluster.brokers, "broker")}` : session.value.bootstrap_servers}</span>
    <nav aria-label="Pages">${PLACES.map(([name, part]) => html`
      <a key=${name} href=${part ? to([part]) : "/"} aria-current=${first === part ? "page" : undefined}>${name}</a>`)}</nav>
    <${Search} />
    <${User} />
  </header>`;
}

function Shell() {
  const [title, content] = page();
  useEffect(() => {
    document.title = `${title} · pybroker`;
  }, [title]);
  /** @type {Record<string, () => void>} */
  const keys = { "?": () => { helpShown.value = true; } };
  for (const [, part, key] of PLACES) keys[`g ${key}`] = () => go(part ? to([part]) : "/");
  useKeys(keys, []);
  return html`
    <a class="skip" href="#content">Skip to the content</a>
    <${Header} />
    <main id="content" tabindex="-1"><${Guard} key=${route.value.path}>${content}<//></main>
    <footer class="hints"><span><kbd>g</kbd> <kbd>t</kbd> topics</span> <span><kbd>g</kbd> <kbd>g</kbd> groups</span>
      <span><kbd>j</kbd> <kbd>k</kbd> rows</span> <button type="button" class="plain" onClick=${() => { helpShown.value = true; }}><kbd>?</kbd> keys</button>
    </footer>
    ${helpShown.value && html`<${Keys} />`}`;
}

export function App() {
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  useEffect(() => {
    const ask = () => refreshSession().then(() => setError(null), setError);
    ask();
    const timer = setInterval(ask, 60_000);
    return () => clearInterval(timer);
  }, []);
  if (session.value === null) {
    return html`<main>${error ? html`<${Note} tone="bad" title="Could not start.">${error.message}<//>`
      : html`<p class="quiet waiting">Loading …</p>`}</main>`;
  }
  return loginNeeded.value ? html`<${Login} />` : html`<${Shell} />`;
}
