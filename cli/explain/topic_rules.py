"""Why a topic is as it is: a pure judgement of its partitions, settings, producers and groups."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from ...base.frozen import frozen
from ..groups.number_ranges import ranges
from ..output.columns import duration_text
from ..topics.found_topics import MIN_ISR
from ..topics.shapes import Partition
from .retention_rules import kept_text
from .shapes import Finding, TopicExplanation, TopicGroup, TopicValue, WritingProducer

__all__ = ["TopicEvidence", "explained_topic", "layout_text"]

DEFAULT = "default"
_SILENT_S = 900
"""Kafka's transaction.max.timeout.ms: a transaction is ended when it is open for longer."""
_RETENTION = ("cleanup.policy", "retention.ms", "retention.bytes")


@frozen
class TopicEvidence:
    """``alive``: the brokers in the metadata. ``settings``: all that act on the topic; empty if not told."""

    topic: str
    partitions: tuple[Partition, ...]
    alive: frozenset[int]
    settings: tuple[TopicValue, ...]
    producers: tuple[WritingProducer, ...]
    groups: tuple[TopicGroup, ...]
    not_told: tuple[str, ...]
    now_ms: float

    def value_of(self, name: str) -> str | None:
        """The value of a setting; None when it was not told."""
        return next((each.value for each in self.settings if each.name == name), None)

    @property
    def min_isr(self) -> int | None:
        value = self.value_of(MIN_ISR)
        return int(value) if value is not None and value.isdigit() else None


def explained_topic(evidence: TopicEvidence) -> TopicExplanation:
    """The verdict and its reasons."""
    findings = [*_partition_findings(evidence), *_layout_notes(evidence), *_client_findings(evidence)]
    findings.sort(key=lambda finding: not finding.is_trouble)
    refusing = _refusing(evidence)
    values = [evidence.value_of(name) for name in _RETENTION]
    return TopicExplanation(
        topic=evidence.topic,
        is_healthy=not any(finding.is_trouble for finding in findings),
        text=_verdict(evidence, findings, refusing),
        is_writable=False if refusing else None if evidence.min_isr is None else True,
        min_isr=evidence.min_isr,
        kept=None if None in values else kept_text(values[0] or "", int(values[1] or -1), int(values[2] or -1)),
        partitions=evidence.partitions,
        settings=tuple(each for each in evidence.settings if each.source != DEFAULT),
        producers=evidence.producers,
        groups=evidence.groups,
        findings=tuple(findings),
        not_told=evidence.not_told,
    )


def layout_text(view: TopicExplanation) -> str:
    """How many partitions and replicas the topic has, and which brokers lead them."""
    leaders = Counter(each.leader for each in view.partitions if each.leader is not None)
    led = ", ".join(f"broker {leader} ({count:,})" for leader, count in sorted(leaders.items())) or "no broker"
    sizes = sorted({len(each.replicas) for each in view.partitions})
    replicas = " or ".join(map(str, sizes))
    least = "not told" if view.min_isr is None else view.min_isr
    return f"{_counted(len(view.partitions))}, replicas: {replicas}, {MIN_ISR}: {least}; led by {led}"


def _verdict(evidence: TopicEvidence, findings: Sequence[Finding], refusing: Sequence[Partition]) -> str:
    total = len(evidence.partitions)
    leaderless = sum(each.leader is None for each in evidence.partitions)
    if leaderless:
        return f"is NOT AVAILABLE: {leaderless:,} of {_counted(total)} without a leader"
    if refusing:
        return f"REFUSES WRITES with acks=all: {len(refusing):,} of {_counted(total)} with too few replicas in sync"
    takes = "" if evidence.min_isr is None else f"{_counted(total)} take writes with acks=all"
    if any(finding.is_trouble for finding in findings):
        return f"is IN TROUBLE{takes and f', but {takes}'}"
    return f"is fine{takes and f': {takes}'}"


def _refusing(evidence: TopicEvidence) -> list[Partition]:
    """The partitions that refuse writes with acks=all. Since Kafka 3.7 no more replicas are needed than there are."""
    least = evidence.min_isr or 1
    return [
        each for each in evidence.partitions if each.leader is None or len(each.isr) < min(least, len(each.replicas))
    ]


def _partition_findings(evidence: TopicEvidence) -> Iterator[Finding]:
    """One finding for each kind of trouble. A partition counts once, at its worst."""
    least = evidence.min_isr or 1
    leaderless = [each for each in evidence.partitions if each.leader is None]
    led = [each for each in evidence.partitions if each.leader is not None]
    too_few = [each for each in led if len(each.isr) < min(least, len(each.replicas))]
    behind = [each for each in led if least <= len(each.isr) < len(each.replicas)]
    if leaderless:
        lost = {broker for each in leaderless for broker in each.isr or each.replicas if broker not in evidence.alive}
        unclean = f"pybroker cluster elect --unclean {evidence.topic}:{_numbers(leaderless)} elects a replica that is"
        yield Finding(
            kind="no_leader",
            is_trouble=True,
            text=f"{_these(leaderless)} no leader, so no record can be written or read there",
            culprit=_culprits(evidence, leaderless, lambda each: each.isr or each.replicas),
            remedies=(
                *(f"start broker {broker}, which has all records" for broker in sorted(lost)),
                f"{unclean} not in sync; the records that it lacks are lost",
            ),
        )
    if too_few:
        yield _out_of_sync(evidence, too_few, "under_min_isr", f"fewer than {MIN_ISR}={least} replicas in sync")
    if behind:
        yield _out_of_sync(evidence, behind, "under_replicated", "a replica that is not in sync")


def _out_of_sync(evidence: TopicEvidence, partitions: Sequence[Partition], kind: str, words: str) -> Finding:
    brokers = sorted({broker for each in partitions for broker in _missing(each)})
    remedies = [f"start broker {broker}" for broker in brokers if broker not in evidence.alive]
    if len(remedies) < len(brokers):
        remedies.append("pybroker cluster log-dirs, and the logs of the brokers that are alive, say why they lag")
    effect = ": writes with acks=all are refused, and no other broker has the newest records"
    return Finding(
        kind=kind,
        is_trouble=True,
        text=f"{_these(partitions)} {words}{effect if kind == 'under_min_isr' else ''}",
        culprit=_culprits(evidence, partitions, _missing),
        remedies=tuple(remedies),
    )


def _layout_notes(evidence: TopicEvidence) -> Iterator[Finding]:
    moved = [each for each in evidence.partitions if each.leader is not None and each.leader != each.replicas[0]]
    ready = [each for each in moved if each.replicas[0] in each.isr]
    waiting = [each for each in moved if each.replicas[0] not in each.isr]
    if ready:
        remedy = f"pybroker cluster elect {evidence.topic}; auto.leader.rebalance.enable does it from time to time"
        yield _note(
            "not_preferred", f"{_these(ready)} another leader than the preferred one, their first replica", remedy
        )
    if waiting:
        text = f"{_these(waiting)} another leader, because the preferred one, their first replica, is not in sync"
        yield _note("preferred_not_in_sync", text)
    least = evidence.min_isr or 1
    if short := [each for each in evidence.partitions if len(each.replicas) < least]:
        text = (
            f"{_these(short)} fewer replicas than {MIN_ISR}={least}: Kafka 3.7 and newer need all of them for a write "
        )
        remedy = f"pybroker cluster reassign plan {evidence.topic} -r {least}"
        yield _note("min_isr_above_replicas", f"{text}with acks=all, older brokers refuse it", remedy)
    replicas = max((len(each.replicas) for each in evidence.partitions), default=0)
    if replicas == 1 and len(evidence.alive) > 1:
        remedy = f"pybroker cluster reassign plan {evidence.topic} -r {min(3, len(evidence.alive))}"
        yield _note(
            "single_replica", "each record is on one broker only: without that broker it cannot be read", remedy
        )
    if replicas > 1 and evidence.min_isr == 1:
        remedy = f"pybroker configs set topic/{evidence.topic} {MIN_ISR}={replicas - 1 if replicas > 2 else 2}"
        text = f"with {MIN_ISR}=1 a write with acks=all may be on one broker only when it is acknowledged"
        yield _note("min_isr_one", text, remedy)


def _client_findings(evidence: TopicEvidence) -> Iterator[Finding]:
    for each in evidence.producers:
        silent_s = 0.0 if each.last_written_ms is None else (evidence.now_ms - each.last_written_ms) / 1000
        if each.open_partitions and silent_s > _SILENT_S:
            yield Finding(
                kind="silent_transaction",
                is_trouble=True,
                text=f"partition {ranges(each.open_partitions)}: a transaction is open, and its producer has been "
                f"silent for {duration_text(silent_s)}: readers of committed records wait there",
                culprit=_producer_name(each),
                remedies=(f"pybroker txns hanging {evidence.topic}, then pybroker txns abort",),
            )
    for group in evidence.groups:
        if group.lost_partitions:
            is_used = group.members > 0
            yield Finding(
                kind="offset_lost",
                is_trouble=is_used,
                text=f"group {group.group} has offsets outside the log in partition {ranges(group.lost_partitions)}: "
                "auto.offset.reset decides where it goes on",
                culprit=f"group {group.group}" if is_used else None,
                remedies=(f"pybroker explain group {group.group}",) if is_used else (),
            )


def _producer_name(producer: WritingProducer) -> str:
    name = producer.transactional_id
    return f"producer id {producer.producer_id}" + ("" if name is None else f", transactional id {name}")


def _note(kind: str, text: str, *remedies: str) -> Finding:
    return Finding(kind=kind, is_trouble=False, text=text, culprit=None, remedies=remedies)


def _missing(partition: Partition) -> tuple[int, ...]:
    return tuple(broker for broker in partition.replicas if broker not in partition.isr)


def _culprits(
    evidence: TopicEvidence, partitions: Sequence[Partition], brokers_of: Callable[[Partition], Iterable[int]]
) -> str | None:
    """The brokers that are the reason, each with its state and its partitions."""
    by_broker: dict[int, list[Partition]] = {}
    for each in partitions:
        for broker in brokers_of(each):
            by_broker.setdefault(broker, []).append(each)
    texts = []
    for broker, theirs in sorted(by_broker.items()):
        where = "" if len(theirs) == len(partitions) else f" (partition {_numbers(theirs)})"
        if broker not in evidence.alive:
            state = "is not alive"
        elif any(broker in each.offline_replicas for each in theirs):
            state = "is alive, but the log directory is offline"
        else:
            state = "is alive, but not in sync" if broker in _missing(theirs[0]) else "is alive"
        texts.append(f"broker {broker} {state}{where}")
    return "; ".join(texts) or None


def _these(partitions: Sequence[Partition]) -> str:
    return f"partition {_numbers(partitions)} {'has' if len(partitions) == 1 else 'have'}"


def _numbers(partitions: Sequence[Partition]) -> str:
    return ranges([each.partition for each in partitions])


def _counted(count: int) -> str:
    return f"{count:,} partition{'' if count == 1 else 's'}"
