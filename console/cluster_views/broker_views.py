"""The cluster and its brokers, from Kafka's protocol."""

from __future__ import annotations

import asyncio
from typing import Any

from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.messages.metadata import MetadataResponse
from .cluster_facts import PATIENCE_S, ClusterFacts, visible_topics
from .log_sizes import logs_of_brokers
from .topic_views import problems_of

_NO_RATES = {"messages_in_per_s": None, "bytes_in_per_s": None, "bytes_out_per_s": None, "requests_per_s": None}
_NO_HISTORY = {"step_ms": 30_000, "end_ms": 0, "messages_in_per_s": [], "bytes_in_per_s": [], "bytes_out_per_s": []}


def broker_rows(metadata: MetadataResponse) -> list[dict[str, Any]]:
    """The live brokers, by id."""
    return [_row(metadata, broker) for broker in sorted(metadata.brokers, key=lambda each: each.node_id)]


async def broker_detail(cluster: AsyncCluster, metadata: MetadataResponse, broker_id: int) -> dict[str, Any] | None:
    """One broker; None if it is not alive. Only a pybroker can fill `local`."""
    broker = next((each for each in metadata.brokers if each.node_id == broker_id), None)
    if broker is None:
        return None
    logs = (await logs_of_brokers(cluster, [broker_id])).get(broker_id)
    directories = [] if logs is None else logs.directories
    return {"broker": _row(metadata, broker), "local": None, "log_directories": directories}


async def cluster_view(facts: ClusterFacts) -> dict[str, Any]:
    """The cluster at a glance. A field is null if a large cluster does not tell it in time; the next view has it."""
    metadata = await facts.metadata()
    settings, logs, groups = await asyncio.gather(
        facts.within(PATIENCE_S, facts.all_settings),
        facts.within(PATIENCE_S, facts.all_logs),
        facts.within(PATIENCE_S, facts.all_groups),
    )
    counts = problems_of(metadata, settings or {})
    directories = [each for found in (logs or {}).values() for each in found.directories]
    controller = metadata.controller_id if metadata.controller_id >= 0 else None
    return {
        "cluster_id": metadata.cluster_id or "",
        "controller_id": controller,
        "metadata_store": None,
        "pybroker_version": None,
        "kafka_version": None,
        "verdict": _verdict(counts, controller, directories),
        "brokers": len(metadata.brokers),
        "topics": len(visible_topics(metadata)),
        "partitions": counts["partitions"],
        "offline_partitions": counts["offline"],
        "under_replicated_partitions": counts["under_replicated"],
        "under_min_isr_partitions": None if settings is None else counts["under_min_isr"],
        "groups": None if groups is None else len(groups),
        "max_lag_seconds": None,
        "worst_group": max(groups, key=lambda row: row["lag"] or 0)["group"] if groups else None,
        "rates": dict(_NO_RATES),
        "produce_times": None,
        "fetch_times": None,
        "disk": {
            "size_bytes": _sum(directories, "size_bytes"),
            "free_bytes": _sum(directories, "free_bytes"),
            "total_bytes": _sum(directories, "total_bytes"),
            "full_in_s": None,
        },
        "history": dict(_NO_HISTORY),
        "top_topics": [],
        "events": [],
    }


def _row(metadata: MetadataResponse, broker: Any) -> dict[str, Any]:
    number = broker.node_id
    mine = [each for topic in metadata.topics for each in topic.partitions if number in each.replica_nodes]
    return {
        "id": number,
        "endpoints": [{"listener": "", "host": broker.host, "port": broker.port}],
        "rack": broker.rack,
        "is_controller": number == metadata.controller_id,
        "is_local": False,
        "leaders": sum(each.leader_id == number for each in mine),
        "replicas": len(mine),
        "out_of_sync": sum(number not in each.isr_nodes for each in mine),
        "preferred_leaders_elsewhere": sum(
            each.replica_nodes[0] == number and each.leader_id not in (number, -1) for each in mine
        ),
    }


def _verdict(counts: dict[str, int], controller: int | None, directories: list[dict[str, Any]]) -> dict[str, Any]:
    problems = []
    if controller is None:
        problems.append(_problem("trouble", "no_controller", "the cluster has no controller", 1))
    rows = (
        ("trouble", "offline_partitions", "offline", "have no leader"),
        ("trouble", "under_min_isr", "under_min_isr", "have fewer replicas in sync than min.insync.replicas"),
        ("warning", "under_replicated", "under_replicated", "lack a replica"),
    )
    for severity, kind, name, text in rows:
        count = counts[name]
        if count:
            noun = "partition" if count == 1 else "partitions"
            verb = text.replace("have", "has").replace("lack a", "lacks a") if count == 1 else text
            problems.append(_problem(severity, kind, f"{count} {noun} {verb}", count))
    offline = sum(not each["is_online"] for each in directories)
    if offline:
        problems.append(_problem("trouble", "offline_log_directory", f"log directories offline: {offline}", offline))
    status = "trouble" if any(each["severity"] == "trouble" for each in problems) else "warning"
    return {
        "status": status if problems else "healthy",
        "text": ", ".join(each["text"] for each in problems) or "healthy",
        "problems": problems,
    }


def _problem(severity: str, kind: str, text: str, count: int) -> dict[str, Any]:
    place = {"topic": None, "partition": None, "group": None, "broker_id": None}
    return {"severity": severity, "kind": kind, "text": text, "count": count, **place}


def _sum(directories: list[dict[str, Any]], name: str) -> int | None:
    known = [each[name] for each in directories if each[name] is not None]
    return sum(known) if known else None
