// One record with all that is known of it, at the side of the list.
import { html, useEffect, useRef, useState } from "../html.js";
import { api, path } from "../api.js";
import { useData } from "../data.js";
import { count, dateTime } from "../format.js";
import { useKeys } from "../keys.js";
import { CommandLine, Note, Waiting } from "../ui/parts.js";
import { PayloadView } from "../ui/payload.js";

/** @param {{batch: any}} props */
function Batch({ batch }) {
  if (!batch) return null;
  const facts = [
    ["base offset", count(batch.base_offset)], ["records", count(batch.record_count)], ["codec", batch.codec], ["size", `${count(batch.size)} bytes`],
    ["leader epoch", batch.leader_epoch],
    ...(batch.producer_id >= 0 ? [["producer", `${batch.producer_id}, epoch ${batch.producer_epoch}, sequence ${batch.base_sequence}`], ["transactional", batch.is_transactional ? "yes" : "no"]] : []),
  ];
  return html`<section><h3>Batch</h3><dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl></section>`;
}

/** @param {{record: any}} props */
function Headers({ record }) {
  if (record.headers.length === 0) return null;
  return html`<section><h3>Headers <span class="quiet">${record.header_count}</span></h3>
    ${record.headers.map((/** @type {any} */ header, /** @type {number} */ index) => html`<${PayloadView} key=${index} title=${header.name} payload=${header.value} />`)}
    ${record.header_count > record.headers.length && html`<p class="quiet">${record.header_count - record.headers.length} more are not shown.</p>`}</section>`;
}

/** @param {{topic: string, partition: number, offset: number, onClose: () => void}} props */
export function RecordPanel({ topic, partition, offset, onClose }) {
  const place = ["topics", topic, "partitions", partition, "records", offset];
  const { data, error } = useData(path(place));
  const [whole, setWhole] = useState(/** @type {string | null} */ (null));
  const [problem, setProblem] = useState("");
  const panel = useRef(/** @type {HTMLElement | null} */ (null));
  useKeys({ Escape: onClose }, [onClose]);
  useEffect(() => { setWhole(null); setProblem(""); panel.current?.scrollTo(0, 0); }, [partition, offset]);
  const readAll = () => { api.text(path([...place, "value"], { json: 1 })).then(setWhole, (failed) => setProblem(failed.message)); };
  const decoded = data?.decoded ? JSON.stringify(data.decoded) : null;
  return html`<aside class="panel" ref=${panel} aria-label=${`Record ${partition}-${offset}`} tabindex="0">
    <header><h2>partition ${partition} · offset ${count(offset)}</h2><button type="button" class="plain right" onClick=${onClose}>Close <kbd>Esc</kbd></button></header>
    ${!data ? html`<${Waiting} error=${error} what="the record" />` : html`
      <p class="quiet">${dateTime(data.timestamp_ms, true)} · ${data.timestamp_type === "append" ? "time of the append" : "time of the producer"} · ${count(data.size)} bytes${data.kind === "control" ? " · control record" : ""}</p>
      ${problem && html`<${Note} tone="bad">${problem}<//>`}
      ${decoded && html`<${PayloadView} title="Decoded" payload=${{ size: decoded.length, text: decoded, base64: null, cut: false }} />`}
      <${PayloadView} title="Key" payload=${data.key} hash=${null} address=${data.key && `/api${path([...place, "key"])}`} />
      <${PayloadView} title="Value" payload=${data.value} hash=${data.value_sha256} whole=${whole} onWhole=${readAll} address=${data.value && `/api${path([...place, "value"])}`} />
      <${Headers} record=${data} />
      <${Batch} batch=${data.batch} />
      <${CommandLine} cli=${data.cli} />`}
  </aside>`;
}
