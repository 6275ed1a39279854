"""Checks of a cluster that answers: controller, partitions, disks, transactions, offsets. Pure."""

from collections.abc import Callable, Mapping

from ...base.kafka_names import INTERNAL_TOPICS
from ...protocol.messages.metadata import MetadataResponsePartition
from ..output.columns import bytes_text, counted, duration_text
from .judgement import NO_ANSWER, NO_TOPICS, Judgement, listed_names, ok, skipped
from .shapes import Facts, Unknown

__all__ = [
    "controller_is_known",
    "directories_work",
    "internal_topics_have_replicas",
    "min_isr_guards_writes",
    "no_transaction_hangs",
    "offsets_are_kept",
    "partitions_have_leaders",
    "partitions_have_min_isr",
    "partitions_have_spare_replicas",
    "replicas_are_in_sync",
]

_SAFE_REPLICAS = 3
_LEAST_FREE = 0.1
_LEAST_KEPT_MINUTES = 24 * 60


def controller_is_known(facts: Facts) -> Judgement:
    """D10."""
    if isinstance(facts.metadata, Unknown):
        return skipped(NO_ANSWER)
    controller = facts.metadata.controller_id
    if controller not in {each.node_id for each in facts.metadata.brokers}:
        return Judgement("FAIL", "there is no controller", "look at the logs of the brokers, and at ZooKeeper or KRaft")
    return ok(f"broker {controller}")


def partitions_have_leaders(facts: Facts) -> Judgement:
    """D11."""
    if isinstance(facts.metadata, Unknown):
        return skipped(NO_ANSWER)
    if facts.hides_topics:
        return skipped(NO_TOPICS)
    alive = {each.node_id for each in facts.metadata.brokers}
    wrong = _partitions(facts, lambda _, each: each.leader_id not in alive)
    if not wrong:
        return ok(f"all of {counted(len(_partitions(facts, lambda *_: True)), 'partition')}")
    missing = sorted(
        {
            replica
            for topic in facts.metadata.topics
            for each in topic.partitions
            if each.leader_id not in alive
            for replica in each.replica_nodes
        }
        - alive
    )
    remedy = f"start broker {listed_names([str(each) for each in missing])}" if missing else "look at log directories"
    return Judgement("FAIL", f"{_counted_partitions(wrong)} without a leader: {listed_names(wrong)}", remedy)


def partitions_have_min_isr(facts: Facts) -> Judgement:
    """D12."""
    if isinstance(facts.min_isr, Unknown):
        return skipped(facts.min_isr)
    least = facts.min_isr
    wrong = _partitions(facts, lambda topic, each: 0 < len(each.isr_nodes) < _needed(least, topic, each))
    if not wrong:
        return ok("no write with acks=all is refused for it")
    text = f"{_counted_partitions(wrong)} under min.insync.replicas: {listed_names(wrong)}"
    return Judgement("FAIL", text, "start the missing brokers, or give the topics more replicas")


def replicas_are_in_sync(facts: Facts) -> Judgement:
    """D13."""
    if isinstance(facts.metadata, Unknown):
        return skipped(NO_ANSWER)
    if facts.hides_topics:
        return skipped(NO_TOPICS)
    wrong = _partitions(facts, lambda _, each: len(each.isr_nodes) < len(each.replica_nodes))
    if not wrong:
        return ok("all replicas are in sync")
    alive = {each.node_id for each in facts.metadata.brokers}
    behind = sorted(
        {
            replica
            for topic in facts.metadata.topics
            for each in topic.partitions
            for replica in each.replica_nodes
            if replica not in each.isr_nodes
        }
    )
    brokers = [f"{each} ({'alive' if each in alive else 'not alive'})" for each in behind]
    text = f"{_counted_partitions(wrong)} with replicas out of sync: {listed_names(wrong)}"
    return Judgement("warn", text, f"look at broker {listed_names(brokers)}")


def partitions_have_spare_replicas(facts: Facts) -> Judgement:
    """D14."""
    if isinstance(facts.min_isr, Unknown):
        return skipped(facts.min_isr)
    least = facts.min_isr
    wrong = _partitions(
        facts, lambda topic, each: len(each.replica_nodes) > 1 and len(each.isr_nodes) == _needed(least, topic, each)
    )
    if not wrong:
        return ok("no replicated partition is at its min.insync.replicas")
    text = f"{_counted_partitions(wrong)} at min.insync.replicas: {listed_names(wrong)}"
    return Judgement(
        "warn", text, "let no broker stop until more replicas are in sync; 3 replicas with 2 in sync are usual"
    )


def min_isr_guards_writes(facts: Facts) -> Judgement:
    """D15."""
    if isinstance(facts.min_isr, Unknown) or isinstance(facts.metadata, Unknown):
        return skipped(facts.min_isr if isinstance(facts.min_isr, Unknown) else NO_ANSWER)
    wrong = sorted(
        topic.name or ""
        for topic in facts.metadata.topics
        if topic.name not in INTERNAL_TOPICS
        and facts.min_isr.get(topic.name or "", 1) == 1
        and any(len(each.replica_nodes) >= _SAFE_REPLICAS for each in topic.partitions)
    )
    if not wrong:
        return ok(f"no topic with {_SAFE_REPLICAS} replicas has min.insync.replicas=1")
    text = f"{counted(len(wrong), 'topic')} with {_SAFE_REPLICAS} replicas or more: {listed_names(wrong)}"
    return Judgement("warn", text, f"pybroker configs set topic/{wrong[0]} min.insync.replicas=2")


def internal_topics_have_replicas(facts: Facts) -> Judgement:
    """D16."""
    if isinstance(facts.metadata, Unknown):
        return skipped(NO_ANSWER)
    if facts.hides_topics:
        return skipped(NO_TOPICS)
    wanted = min(_SAFE_REPLICAS, len(facts.metadata.brokers))
    found = {
        topic.name or "": min((len(each.replica_nodes) for each in topic.partitions), default=0)
        for topic in facts.metadata.topics
        if topic.name in INTERNAL_TOPICS
    }
    if not found:
        return ok("there is none yet")
    wrong = sorted(name for name, replicas in found.items() if replicas < wanted)
    if wrong:
        text = ", ".join(f"{name} has {counted(found[name], 'replica')}" for name in wrong)
        remedy = f"pybroker cluster reassign plan {wrong[0]} -r {wanted}, then execute it"
        return Judgement("warn", f"{text}, but there are {counted(len(facts.metadata.brokers), 'broker')}", remedy)
    return ok(", ".join(f"{name} has {counted(replicas, 'replica')}" for name, replicas in sorted(found.items())))


def directories_work(facts: Facts) -> Judgement:
    """D17."""
    if isinstance(facts.directories, Unknown):
        return skipped(facts.directories)
    broken = [f"{each.directory} of broker {each.broker}: {each.error}" for each in facts.directories if each.error]
    if broken:
        return Judgement("FAIL", listed_names(broken), "mend the disk, then start the broker again")
    full = [
        f"{each.directory} of broker {each.broker}: {bytes_text(each.usable)} of {bytes_text(each.total)} free"
        for each in facts.directories
        if each.total and each.usable is not None and each.usable < each.total * _LEAST_FREE
    ]
    if full:
        return Judgement(
            "warn", listed_names(full), "make room: a shorter retention.ms, a larger disk, or another broker"
        )
    return ok(f"{len(facts.directories):,} of {len(facts.directories):,}")


def no_transaction_hangs(facts: Facts) -> Judgement:
    """D18."""
    if isinstance(facts.hanging, Unknown):
        return skipped(facts.hanging)
    if not facts.hanging:
        return ok("none")
    names = [f"{each.topic}:{each.partition} from offset {each.start_offset}" for each in facts.hanging]
    first = facts.hanging[0]
    remedy = f"pybroker txns abort {first.topic}:{first.partition} --start-offset {first.start_offset}"
    return Judgement("FAIL", listed_names(names), remedy)


def offsets_are_kept(facts: Facts) -> Judgement:
    """D19."""
    kept = facts.offsets_kept_minutes
    if isinstance(kept, Unknown):
        return skipped(kept)
    text = f"offsets of groups without members are kept for {duration_text(kept * 60)}"
    if kept < _LEAST_KEPT_MINUTES:
        return Judgement("warn", text, "set offsets.retention.minutes of the brokers above the longest standstill")
    return ok(text)


def _partitions(facts: Facts, wanted: Callable[[str, MetadataResponsePartition], bool]) -> list[str]:
    """The names of the partitions that are wanted, by topic and number."""
    if isinstance(facts.metadata, Unknown):
        return []
    return [
        f"{topic.name}-{each.partition_index}"
        for topic in sorted(facts.metadata.topics, key=lambda topic: topic.name or "")
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
        if wanted(topic.name or "", each)
    ]


def _needed(min_isr: Mapping[str, int], topic: str, partition: MetadataResponsePartition) -> int:
    """The replicas in sync that writes with acks=all need: since Kafka 3.7 no more than there are."""
    return min(min_isr.get(topic, 1), len(partition.replica_nodes))


def _counted_partitions(names: list[str]) -> str:
    return counted(len(names), "partition")
