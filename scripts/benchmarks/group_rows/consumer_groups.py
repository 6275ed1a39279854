"""Rows about consumer groups of KIP-848, beside a Kafka with KRaft: `scripts/bench --only "consumer group"`."""

import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from support.processes.broker_process import BrokerProcess
from support.processes.kafka_versions import KRaftProcess

from benchmarks.contestants import Contestant, cpu_seconds, with_new_groups
from benchmarks.group_rows.members import Members
from benchmarks.kafka_tools import create_topic
from benchmarks.scenarios import Scenario, allow_connections, wait_until_quiet
from benchmarks.targets import at_most, ratio_at_most

__all__ = ["CONSUMER_GROUPS"]

_TOPIC = "partitions"
_PARTITIONS = 1_000
_MEMBERS = 100
_IDLE_MEMBERS = 1_000
_SESSION_MS = 6_000
_INTERVAL_MS = 200
_CHANGES = 3
"""Joins, leaves and kills that are measured, after as many that warm both brokers up."""


def _times(session_ms: int, interval_ms: int) -> dict[str, str]:
    return {
        "group.consumer.min.session.timeout.ms": str(session_ms),
        "group.consumer.session.timeout.ms": str(session_ms),
        "group.consumer.min.heartbeat.interval.ms": str(interval_ms),
        "group.consumer.heartbeat.interval.ms": str(interval_ms),
    }


def rebalances(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    figures = {}
    for contestant in contestants:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            broker = with_new_groups(contestant.name, Path(directory) / "broker", _times(_SESSION_MS, _INTERVAL_MS))
            try:
                create_topic(broker.bootstrap_servers, _TOPIC, _PARTITIONS)
                wait_until_quiet(broker.pid)
                figures[contestant.name] = asyncio.run(_rebalance(broker, int(_MEMBERS * min(scale, 1.0))))
            finally:
                broker.kill()
    return figures


async def _rebalance(broker: BrokerProcess | KRaftProcess, count: int) -> dict[str, float]:
    figures: dict[str, list[float]] = {}
    members = Members(broker.bootstrap_servers, "g", _TOPIC, _PARTITIONS)
    spread_s = _INTERVAL_MS / 1000 / count
    for number in range(count):
        members.join(number * spread_s)
    await members.stable(0)
    for number in range(2 * _CHANGES):
        found = await _one_of_each(broker, members)
        for name, value in found.items() if number >= _CHANGES else ():
            figures.setdefault(name, []).append(value)
    await members.end()
    return {name: sorted(values)[len(values) // 2] for name, values in figures.items()}


async def _one_of_each(broker: BrokerProcess | KRaftProcess, members: Members) -> dict[str, float]:
    """A member joins, one leaves, one joins, and one is killed."""
    found: dict[str, float] = {}
    epoch, began_s, used_s = members.epoch, time.monotonic(), cpu_seconds(broker.pid)
    members.join()
    found["ms after a join"] = 1000 * (await members.stable(epoch) - began_s)
    found["broker CPU ms of a join"] = 1000 * (cpu_seconds(broker.pid) - used_s)
    epoch, began_s = members.epoch, time.monotonic()
    await members.alive.pop(0).leave()
    found["ms after a leave"] = 1000 * (await members.stable(epoch) - began_s)
    members.join()
    await members.stable(members.epoch)
    epoch, killed = members.epoch, members.alive.pop(0)
    await killed.kill()
    session_ends_s = killed.heard_s + _SESSION_MS / 1000
    found["ms after the session of a killed member"] = 1000 * (await members.stable(epoch) - session_ends_s)
    return found


def idle(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    figures = {}
    count = int(_IDLE_MEMBERS * min(scale, 1.0))
    allow_connections(count)
    for contestant in contestants:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            broker = with_new_groups(contestant.name, Path(directory) / "broker", {})
            try:
                create_topic(broker.bootstrap_servers, _TOPIC, _PARTITIONS)
                wait_until_quiet(broker.pid)
                figures[contestant.name] = asyncio.run(_idle(broker, count, 20 * min(scale, 1.0)))
            finally:
                broker.kill()
    return figures


async def _idle(broker: BrokerProcess | KRaftProcess, count: int, seconds: float) -> dict[str, float]:
    """CPU of the broker, in percent of one core; the members send a heartbeat each 5 s, Kafka's default."""
    members = Members(broker.bootstrap_servers, "idle", _TOPIC, _PARTITIONS)
    for number in range(count):
        members.join(5 * number / count)
    await members.stable(0, timeout_s=90)
    await asyncio.sleep(5)
    before_s, began_s = cpu_seconds(broker.pid), time.monotonic()
    await asyncio.sleep(seconds)
    used_s, passed_s = cpu_seconds(broker.pid) - before_s, time.monotonic() - began_s
    await members.end()
    return {"CPU %": 100 * used_s / passed_s, "us a heartbeat": 1e6 * used_s / passed_s / (count / 5)}


CONSUMER_GROUPS = (
    Scenario(
        "consumer group of 100 members and 1,000 partitions (Kafka 4.2)",
        (
            ratio_at_most("ms after a join", 1.0),
            ratio_at_most("ms after a leave", 1.0),
            ratio_at_most("ms after the session of a killed member", 1.0),
        ),
        rebalances,
    ),
    Scenario(
        "consumer group of 1,000 idle members, a heartbeat each 5 s (Kafka 4.2)",
        (at_most("CPU %", 2.0),),
        idle,
    ),
)
