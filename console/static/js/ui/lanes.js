// The members of a group over time: when each was there, and when the group waited for it.
import { html } from "../html.js";
import { counted } from "../format.js";

const MOST = 12;
const ARRIVES = new Set(["member_joined"]);
const LEAVES = new Set(["member_left", "session_expired", "sync_timed_out"]);

/**
 * @typedef {object} Lane
 * @property {string} name
 * @property {string} place its instance id or host
 * @property {[number, number][]} there spans of milliseconds
 * @property {[number, number][]} waited the group waited for this member
 * @property {number} caused rebalances that it began
 * @property {number | null | undefined} since the span that is not over; null: gone, undefined: nothing is known yet
 */

/** One lane for each client, because a client that comes back has a new member id. @param {any[]} events newest first @param {any[]} members @param {number} from @param {number} until */
export function lanesOf(events, members, from, until) {
  /** @type {Map<string, Lane>} */
  const lanes = new Map();
  /** @type {Map<string, Lane>} */
  const byMember = new Map();
  const laneOf = (/** @type {any} */ member) => { // an event names its member likewise
    const name = member.client_id || member.member_id;
    const place = member.instance_id || member.host || "";
    const key = JSON.stringify([name, place]);
    /** @type {Lane} */
    const lane = lanes.get(key) ?? { name, place, there: [], waited: [], caused: 0, since: undefined };
    lanes.set(key, lane);
    byMember.set(member.member_id, lane);
    return lane;
  };
  const present = members.map(laneOf);
  const oldest = [...events].reverse();
  for (const event of oldest) if (event.member_id) laneOf(event);
  let last = from;
  for (const event of oldest) {
    const at = event.time_ms;
    last = Math.min(until, at + (event.duration_ms ?? 0));
    const lane = event.member_id ? byMember.get(event.member_id) : undefined;
    if (lane && event.kind === "rebalance") {
      lane.caused += event.times ?? 1;
      if (ARRIVES.has(event.reason)) lane.since ??= at;
      else if (!LEAVES.has(event.reason)) lane.since ??= from;
      else if (lane.since !== null) {
        lane.there.push([lane.since ?? from, at]);
        lane.since = null;
      }
    }
    const awaited = event.waited_for ? byMember.get(event.waited_for) : undefined;
    if (awaited && event.waited_ms > 0) {
      if (awaited.since === undefined) awaited.since = from;
      awaited.waited.push([at, Math.min(until, at + event.waited_ms)]);
    }
  }
  for (const lane of new Set(present)) {
    lane.there.push([lane.since === undefined ? from : lane.since ?? last, until]);
    lane.since = null;
  }
  for (const lane of lanes.values()) if (typeof lane.since === "number") lane.there.push([lane.since, last]);
  const busiest = [...lanes.values()].sort((a, b) => b.waited.length + b.caused - a.waited.length - a.caused);
  return { lanes: busiest.slice(0, MOST), more: Math.max(0, busiest.length - MOST) };
}

/** @param {{events: any[], members: any[], from: number, until: number}} props */
export function Lanes({ events, members, from, until }) {
  const { lanes, more } = lanesOf(events, members, from, until);
  const at = (/** @type {number} */ ms) => Math.max(0, Math.min(1000, (1000 * (ms - from)) / (until - from)));
  const bars = (/** @type {[number, number][]} */ spans, /** @type {string} */ kind, /** @type {number} */ least) => spans.map(([start, end], index) => html`
    <rect key=${`${kind}${index}`} class=${kind} x=${at(start)} y=${kind === "band" ? 0 : 4} width=${Math.max(least, at(end) - at(start))} height=${kind === "band" ? 16 : 8} />`);
  const rebalances = events.filter((each) => each.kind === "rebalance").map((each) => /** @type {[number, number]} */ ([each.time_ms, each.duration_ms === null ? until : each.time_ms + each.duration_ms]));
  return html`${lanes.map((lane, index) => html`
      <span key=${`name${index}`} class="mono lane-name" title=${`${lane.name} ${lane.place}`}>${lanes.some((each) => each !== lane && each.name === lane.name) ? `${lane.name} ${lane.place}` : lane.name}</span>
      <svg key=${`bar${index}`} class="lane" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img"
        aria-label=${`${lane.name}: began ${counted(lane.caused, "rebalance")}, was waited for ${counted(lane.waited.length, "time")}`}>
        ${bars(rebalances, "band", 2)}${bars(lane.there, "there", 0)}${bars(lane.waited, "waited", 3)}</svg>`)}
    ${more > 0 && html`<span></span><span class="quiet">and ${counted(more, "other client")}</span>`}`;
}
