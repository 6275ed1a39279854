"""Plans of reassignments in the JSON of Kafka's kafka-reassign-partitions, and how to make one. Pure.

A plan moves as little as possible: a replica stays where it is, if its broker may keep it and has not too many.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition

__all__ = ["Plan", "balanced", "plan_text", "read_plan"]

Plan = Mapping[TopicPartition, tuple[int, ...]]
"""The replicas of each partition, the preferred leader first."""


def read_plan(text: str, where: str) -> dict[TopicPartition, tuple[int, ...]]:
    """The plan in a JSON text. Raises CommandError."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{where}: is not JSON: {error}", BAD_INPUT) from None
    if isinstance(document, list) and len(document) == 1:  # as plan -o json prints it
        (document,) = document
    rows = document.get("partitions") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise CommandError(f'{where}: must be {{"version":1,"partitions":[…]}}', BAD_INPUT)
    plan: dict[TopicPartition, tuple[int, ...]] = {}
    for number, row in enumerate(rows, start=1):
        at, replicas = _read_row(row, f"{where}: partition {number} of the list")
        if at in plan:
            raise CommandError(f"{where}: {at} is there twice", BAD_INPUT)
        plan[at] = replicas
    return plan


def _read_row(row: Any, where: str) -> tuple[TopicPartition, tuple[int, ...]]:
    if not isinstance(row, dict):
        raise CommandError(f"{where} is not an object", BAD_INPUT)
    topic, partition, replicas = row.get("topic"), row.get("partition"), row.get("replicas")
    if not isinstance(topic, str) or not isinstance(partition, int) or not _is_id(partition):
        raise CommandError(f"{where} needs a topic and a partition", BAD_INPUT)
    if not isinstance(replicas, list) or not replicas or not all(map(_is_id, replicas)):
        raise CommandError(f"{where} needs replicas, which are ids of brokers", BAD_INPUT)
    if len(set(replicas)) < len(replicas):
        raise CommandError(f"{where} has the same broker twice", BAD_INPUT)
    return TopicPartition(topic, partition), tuple(replicas)


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31


def plan_text(plan: Plan) -> str:
    """The plan as Kafka's tool writes it."""
    rows = [
        {"topic": at.topic, "partition": at.partition, "replicas": list(replicas), "log_dirs": ["any"] * len(replicas)}
        for at, replicas in sorted(plan.items())
    ]
    return json.dumps({"version": 1, "partitions": rows}, separators=(",", ":"))


def balanced(current: Plan, brokers: Sequence[int], replication_factor: int | None = None) -> Plan:
    """Spread partitions over brokers, so that their numbers of replicas differ by one at most.

    Preferred leaders are spread too, as evenly as the replicas allow without more moves. Without
    ``replication_factor`` each partition keeps its own. Raises CommandError.
    """
    if not brokers:
        raise CommandError("there is no broker to move partitions to", BAD_INPUT)
    sizes = {at: replication_factor or len(replicas) for at, replicas in current.items()}
    if (most := max(sizes.values(), default=0)) > len(brokers):
        raise CommandError(f"{most} replicas need {most} brokers, but there are {len(brokers)}", BAD_INPUT)
    limit = -(-sum(sizes.values()) // len(brokers))
    load: Counter[int] = Counter(dict.fromkeys(brokers, 0))
    kept: dict[TopicPartition, list[int]] = {}
    for at, replicas in sorted(current.items()):
        stays = [each for each in replicas if each in load and load[each] < limit][: sizes[at]]
        load.update(stays)
        kept[at] = stays
    for at, replicas_kept in kept.items():
        while len(replicas_kept) < sizes[at]:
            free = [each for each in brokers if each not in replicas_kept]
            chosen = min(free, key=lambda each: (load[each], each))
            replicas_kept.append(chosen)
            load[chosen] += 1
    _level(kept, load)
    return _with_leaders(kept, brokers)


def _level(kept: Mapping[TopicPartition, list[int]], load: Counter[int]) -> None:
    """Move replicas from the fullest brokers to the emptiest until they differ by one at most, as far as possible."""
    while True:
        by_load = sorted(load, key=lambda each: (load[each], each))
        for full in reversed(by_load):
            move = next(
                (
                    (replicas, empty)
                    for empty in by_load
                    if load[full] - load[empty] > 1
                    for replicas in kept.values()
                    if full in replicas and empty not in replicas
                ),
                None,
            )
            if move is not None:
                replicas, empty = move
                replicas[replicas.index(full)] = empty
                load[full] -= 1
                load[empty] += 1
                break
        else:
            return


def _with_leaders(kept: Mapping[TopicPartition, Iterable[int]], brokers: Iterable[int]) -> Plan:
    """Put the replica first whose broker leads the fewest partitions so far; the present leader wins a tie."""
    leads: Counter[int] = Counter(dict.fromkeys(brokers, 0))
    plan = {}
    for at, replicas in kept.items():
        order = list(replicas)
        leader = min(order, key=lambda each: leads[each])
        order.remove(leader)
        leads[leader] += 1
        plan[at] = (leader, *order)
    return plan
