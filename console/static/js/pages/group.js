// One group: is it stuck and why, its lag over time, rebalances with reason and culprit, offsets, members.
import { html, useEffect, useRef, useState } from "../html.js";
import { api, path, session } from "../api.js";
import { useData } from "../data.js";
import { clock, count, counted, dateTime, duration, seconds, short } from "../format.js";
import { go, to } from "../router.js";
import { Delete } from "../ui/action.js";
import { Chart, STEPS, timesOf } from "../ui/chart.js";
import { CommandLine, NameLink, Note, Stale, Verdict, Waiting } from "../ui/parts.js";
import { Table } from "../ui/table.js";
import { Timeline } from "../ui/timeline.js";
import { lagTone, ranges } from "../words.js";
import { ResetOffsets } from "./reset_offsets.js";

/** @typedef {any} Row */
const MAX_POINTS = 720;

/** The lag that this page has seen since it was opened; used while the API has no line to draw. @param {any} data */
function useOwnHistory(data) {
  const points = useRef({ times: /** @type {number[]} */ ([]), lag: /** @type {any[]} */ ([]), time: /** @type {any[]} */ ([]) });
  useEffect(() => {
    if (!data) return;
    const { times, lag, time } = points.current;
    points.current = { times: [...times, Date.now()].slice(-MAX_POINTS), lag: [...lag, data.group.lag ?? null].slice(-MAX_POINTS),
      time: [...time, data.group.max_lag_seconds ?? null].slice(-MAX_POINTS) };
  }, [data]);
  return points.current;
}

/** @param {any} props */
function LagCharts({ data }) {
  const own = useOwnHistory(data);
  const known = (data.history?.lag ?? []).filter((/** @type {any} */ value) => value !== null).length;
  const history = known > 1 ? data.history : null;
  const times = history ? timesOf(history, history.lag.length) : own.times;
  const note = history ? "last hour" : "since this page was opened";
  const time = history ? history.lag_seconds : own.time;
  const lag = history ? history.lag : own.lag;
  const isKnown = (/** @type {any[]} */ values) => values.some((value) => value !== null);
  return html`<div class="columns even">
    ${isKnown(time) && html`<${Chart} title="Lag in time" note=${note} times=${times} format=${seconds} steps=${STEPS.seconds} series=${[{ name: "lag", values: time }]} />`}
    ${isKnown(lag) && html`<${Chart} title="Lag in records" note=${note} times=${times} format=${short} steps=${STEPS.counts} series=${[{ name: "lag", values: lag }]} />`}
  </div>`;
}

/** Says why a group does not go on. @param {any} props */
function Trouble({ data }) {
  const { group, waits_for: waits, members } = data;
  if (waits && waits.members.length > 0) {
    const names = waits.members.slice(0, 3).map((/** @type {string} */ id) => members.find((/** @type {Row} */ each) => each.member_id === id)?.client_id ?? id);
    return html`<${Note} tone="bad" title=${`Waits for ${names.join(", ")}${waits.members.length > 3 ? ` and ${counted(waits.members.length - 3, "other")}` : ""}.`}>
      ${`The rebalance waits ${waits.since_ms ? `since ${clock(waits.since_ms)} ` : ""}until ${waits.phase === "join" ? "they join" : "the leader sends the assignment"}.`}
      ${waits.until_ms && ` It goes on without them at ${clock(waits.until_ms)}.`}<//>`;
  }
  if (!group.verdict || ["ok", "catching_up"].includes(group.verdict)) return null;
  const text = group.verdict_text ?? group.verdict.replaceAll("_", " ");
  return html`<${Note} tone=${["stalled", "stopped"].includes(group.verdict) ? "bad" : "warn"} title=${`The group ${text}.`} />`;
}

const OFFSETS = [
  { id: "topic", head: "topic", by: (/** @type {Row} */ row) => row.topic, cell: (/** @type {Row} */ row) => html`<${NameLink} kind="topics" name=${row.topic} />` },
  { id: "partition", head: "partition", num: true, width: "90px", by: (/** @type {Row} */ row) => row.partition,
    cell: (/** @type {Row} */ row) => html`<a href=${to(["topics", row.topic, "records"], { partitions: row.partition, from: `offset:${row.committed}` })} title="Read on from the committed offset">${row.partition}</a>` },
  { id: "committed", head: "committed", num: true, width: "105px", rank: 2, by: (/** @type {Row} */ row) => row.committed,
    cell: (/** @type {Row} */ row) => html`<span title=${`committed ${dateTime(row.commit_ms)}`}>${count(row.committed)}</span>` },
  { id: "end", head: "end", num: true, width: "105px", rank: 2, by: (/** @type {Row} */ row) => row.end_offset, cell: (/** @type {Row} */ row) => count(row.end_offset) },
  { id: "lag", head: "lag", num: true, width: "90px", rank: 2, by: (/** @type {Row} */ row) => row.lag, cell: (/** @type {Row} */ row) => html`<span class=${lagTone(row.lag_seconds)}>${count(row.lag)}</span>` },
  { id: "oldest", head: "oldest unread", num: true, width: "115px", by: (/** @type {Row} */ row) => row.lag_seconds, cell: (/** @type {Row} */ row) => html`<span class=${lagTone(row.lag_seconds)}>${seconds(row.lag_seconds)}</span>` },
  { id: "verdict", head: "verdict", width: "120px", rank: 3, by: (/** @type {Row} */ row) => row.verdict, cell: (/** @type {Row} */ row) => (row.is_offset_lost ? html`<span class="bad">offset lost</span>` : html`<${Verdict} verdict=${row.verdict} />`) },
  { id: "member", head: "member", width: "220px", rank: 3, by: (/** @type {Row} */ row) => row.member_id, cell: (/** @type {Row} */ row) => html`<span class="mono quiet" title=${row.member_id}>${row.member_id ?? "–"}</span>` },
];

const assignmentOf = (/** @type {Row} */ member) => (member.assignment ?? []).map((/** @type {any} */ each) => `${each.topic} ${ranges(each.partitions)}`).join(" · ");
const subscriptionOf = (/** @type {Row} */ member) => {
  const wanted = [...(member.subscribed_topics ?? []), ...(member.subscribed_pattern ? [`pattern ${member.subscribed_pattern}`] : [])];
  return wanted.length ? `subscribed to ${wanted.join(", ")}` : "";
};
const MEMBERS = [
  { id: "client", head: "client", by: (/** @type {Row} */ row) => row.client_id, cell: (/** @type {Row} */ row) => html`<span class=${`mono ${row.is_awaited ? "bad" : ""}`} title=${row.member_id}>${row.client_id}</span>${row.is_leader && html` <span class="quiet">leader</span>`}${typeof row.epoch === "number" && html` <span class="quiet">epoch ${count(row.epoch)}</span>`}` },
  { id: "host", head: "host", width: "125px", rank: 2, by: (/** @type {Row} */ row) => row.host, cell: (/** @type {Row} */ row) => html`<span class="mono">${row.host}</span>` },
  { id: "instance", head: "instance", width: "140px", rank: 3, by: (/** @type {Row} */ row) => row.instance_id, cell: (/** @type {Row} */ row) => html`<span class="mono quiet" title=${row.instance_id}>${row.instance_id ?? "–"}</span>` },
  { id: "has", head: "has", cell: (/** @type {Row} */ row) => html`<span title=${[assignmentOf(row), subscriptionOf(row)].filter(Boolean).join("; ")}>${row.assignment === null ? "–" : assignmentOf(row) || "nothing"}</span>` },
  { id: "heartbeat", head: "heartbeat", num: true, width: "95px", rank: 2, by: (/** @type {Row} */ row) => row.last_heartbeat_ms,
    cell: (/** @type {Row} */ row) => (row.last_heartbeat_ms === null ? "–" : `${duration(Math.max(0, Date.now() - row.last_heartbeat_ms))}`) },
  { id: "limit", head: "session", num: true, width: "80px", rank: 3, by: (/** @type {Row} */ row) => row.session_timeout_ms, cell: (/** @type {Row} */ row) => duration(row.session_timeout_ms) },
  { id: "lag", head: "lag", num: true, width: "85px", by: (/** @type {Row} */ row) => row.lag, cell: (/** @type {Row} */ row) => count(row.lag) },
];

/** @param {{name: string}} props */
export function Group({ name }) {
  const { data, error, refresh } = useData(path(["groups", name]), 5000);
  const { data: timeline } = useData(path(["groups", name, "timeline"]), 10_000);
  const [dialog, setDialog] = useState("");
  if (!data) return html`<h1>${name}</h1><${Waiting} error=${error} what="the group" />`;
  const { group, members = [], offsets = [] } = data;
  const facts = [group.state, typeof group.generation === "number" ? `generation ${count(group.generation)}` : null, group.protocol, group.coordinator >= 0 ? `coordinator broker ${group.coordinator}` : null, counted(members.length, "member"),
    group.rebalances !== null && group.rebalances !== undefined ? counted(group.rebalances, "rebalance") : null,
    group.seconds_to_catch_up ? `caught up in ${seconds(group.seconds_to_catch_up)}` : null].filter(Boolean).join(" · ");
  const close = () => setDialog("");
  return html`
    <div class="bar"><h1 class="name">${name}</h1> ${group.verdict && html`<${Verdict} verdict=${group.verdict} />`} <span class="quiet">${facts}</span>
      ${session.value.writes && html`<span class="right"><button type="button" onClick=${() => setDialog("reset")}>Reset offsets …</button>
        ${" "}<button type="button" class="danger" onClick=${() => setDialog("delete")}>Delete group …</button></span>`}</div>
    <${Stale} error=${error} />
    <${Trouble} data=${data} />
    <${LagCharts} data=${data} />
    <${Timeline} events=${timeline?.events ?? []} members=${members} known=${timeline !== null} />
    <section><h2>Offsets <span class="quiet">${counted(offsets.length, "partition")}</span></h2>
      <${Table} label="Offsets" main rows=${offsets} columns=${OFFSETS} sort="-oldest" rowKey=${(/** @type {Row} */ row) => `${row.topic}/${row.partition}`}
        href=${(/** @type {Row} */ row) => to(["topics", row.topic])} empty="The group has committed no offset." /></section>
    <section><h2>Members <span class="quiet">${count(members.length)}</span></h2>
      <${Table} label="Members" rows=${members} columns=${MEMBERS} rowKey=${(/** @type {Row} */ row) => row.member_id} empty="The group has no member." /></section>
    <${CommandLine} cli=${data.cli} />
    ${dialog === "reset" && html`<${ResetOffsets} group=${name} offsets=${offsets} onClose=${close} onDone=${refresh} />`}
    ${dialog === "delete" && html`<${Delete} kind="group" name=${name} send=${(/** @type {any} */ body) => api.delete(path(["groups", name]), body)} onClose=${close} onDone=${() => go("/groups")} />`}`;
}
