"""Sends every request about a transaction to transactional ids in every state, and collects the error codes.

`code_rows` gives a line for each state, request and outcome: `state | request | producers | codes by version`. After an
arrow stands the state that follows, if the request changed it. `tests/reference/transactions/codes.txt` has Kafka's
lines.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from interop.side_by_side.transaction_stage import (
    ADDED,
    DATA,
    FAR,
    GROUP,
    NOBODY,
    OTHER,
    OTHER_GROUP,
    TIMEOUT_MS,
    Producer,
    Situation,
    Stage,
    Subject,
    init_producer_id,
    record_of,
)
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import add_partitions_to_txn as ap
from pybroker.protocol.messages import describe_producers as dp
from pybroker.protocol.messages import txn_offset_commit as tc
from pybroker.protocol.messages import write_txn_markers as wm
from pybroker.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.list_transactions import ListTransactionsRequest
from support.transaction_codes import THEN, by_version

__all__ = ["code_rows", "exhaustion_rows"]

CONCURRENT = "CONCURRENT_TRANSACTIONS"
RETRIED = "COORDINATOR_LOAD_IN_PROGRESS"
"""Kafka answers it while it gets a block of producer ids."""
UNKNOWN_TOPIC, UNKNOWN_ID = "codes-unknown", "codes-nobody"
HOUR_MS = 3_600_000
STATES = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "Lost"]

Producers = Mapping[str, Callable[[Subject], Producer]]
Build = Callable[[Subject, Producer, int], Message]
"""Makes the request about a subject, in the name of a producer, for a version."""
Read = Callable[[Any, Subject], str]
"""The outcome in a response."""

ITSELF: Producers = {"the producer": lambda its: its.producer}
STARTING: Producers = {"a new producer": lambda its: NOBODY}
PRODUCERS: Producers = {
    **ITSELF,
    "an older epoch": lambda its: Producer(its.producer_id, its.epoch - 1),
    "a newer epoch": lambda its: Producer(its.producer_id, its.epoch + 1),
    "epoch -1": lambda its: Producer(its.producer_id, -1),
    "another id": lambda its: Producer(its.producer_id + FAR, its.epoch),
}


class Request(NamedTuple):
    """A kind of request."""

    name: str
    versions: range
    build: Build
    read: Read
    producers: Producers = PRODUCERS


def code_rows(stage: Stage, situation: Situation) -> Iterator[str]:
    """One line for each request and each of its outcomes. A case that changes the id is followed by a new id."""
    subject: Subject | None = None
    for request in REQUESTS:
        outcomes: dict[str, list[str]] = {}
        for name, producer in request.producers.items():
            found: dict[int, str] = {}
            for version in request.versions:
                subject = subject or situation.build(stage)
                found[version], is_changed = _outcome(stage, request, subject, producer(subject), version)
                if is_changed:
                    subject = None
            outcomes.setdefault(by_version(found), []).append(name)
        for outcome, names in outcomes.items():
            yield " | ".join((situation.name, request.name, ", ".join(names), outcome))


def exhaustion_rows(stage: Stage) -> Iterator[str]:
    """The requests of producers that have used all epochs of their producer id, in an order that makes sense."""
    for request, version, outcome in [*_end_of_epochs(stage), *_fence_at_the_last_epoch(stage)]:
        yield f"exhausted | {request} | the producer | v{version}: {outcome}"


def _end_of_epochs(stage: Stage) -> Iterator[tuple[str, int, str]]:
    subject = stage.exhausted()
    steps = [
        ("AddPartitionsToTxn", 3, _addition({DATA: [ADDED]}), _added, subject.producer),
        ("EndTxn commit", 4, _end(True), _code, subject.producer),
        ("EndTxn commit again", 4, _end(True), _code, subject.producer),
        ("InitProducerId of the producer", 5, _initialization(), _initialized, subject.producer),
        ("InitProducerId of the producer again", 5, _initialization(), _initialized, subject.producer),
        ("EndTxn commit of the old producer id", 4, _end(True), _code, subject.producer),
        ("InitProducerId of a new producer", 5, _initialization(), _initialized, NOBODY),
        ("InitProducerId of the old producer id", 5, _initialization(), _initialized, subject.producer),
    ]
    for name, version, build, read, producer in steps:
        request = Request(name, range(version, version + 1), build, read)
        yield name, version, _outcome(stage, request, subject, producer, version)[0]


def _fence_at_the_last_epoch(stage: Stage) -> Iterator[tuple[str, int, str]]:
    subject = stage.add(stage.exhausted(), DATA)
    for name in ("InitProducerId at the last epoch", "InitProducerId after the new producer id"):
        request = Request(name, range(5, 6), _initialization(), _initialized)
        yield name, 5, _outcome(stage, request, subject, NOBODY, 5)[0]


def _outcome(stage: Stage, request: Request, subject: Subject, producer: Producer, version: int) -> tuple[str, bool]:
    """The outcome, and whether it changed the id or something at a leader.

    A request that is refused because of the earlier transaction is repeated when that has ended.
    """
    before = stage.describe(subject.transactional_id)
    message = request.build(subject, producer, version)
    told = _told(stage, request, subject, message, version)
    after = stage.settled(subject)
    if told == CONCURRENT:
        again = _told(stage, request, subject, message, version)
        told = told if again == told else f"{THEN}{again}"
        after = stage.settled(subject)
    if after == before:
        return told, "NONE" in told
    if after.error_code:
        return f"{told} → {_name(after.error_code)}", True
    return f"{told} → {after.transaction_state}, {_identity(subject, after.producer_id, after.producer_epoch)}", True


def _told(stage: Stage, request: Request, subject: Subject, message: Message, version: int) -> str:
    while (told := request.read(stage.client.ask(message, version), subject)) == RETRIED:
        pass
    return told


# -- outcomes


def _name(code: int) -> str:
    return ErrorCode(code).name


def _joined(codes: Iterable[str]) -> str:
    """The codes, or the only one if they are all the same."""
    found = list(codes)
    return found[0] if len(set(found)) == 1 else "+".join(found)


def _identity(subject: Subject, producer_id: int, epoch: int) -> str:
    if producer_id != subject.producer_id:
        return f"new id, epoch {epoch}"
    return f"epoch {epoch - subject.epoch:+}" if epoch != subject.epoch else "same epoch"


def _code(answer: Any, subject: Subject) -> str:
    return _name(answer.error_code)


def _initialized(answer: Any, subject: Subject) -> str:
    if answer.error_code:
        assert (answer.producer_id, answer.producer_epoch) == (-1, -1), answer
        return _name(answer.error_code)
    return f"NONE, {_identity(subject, answer.producer_id, answer.producer_epoch)}"


def _added(answer: Any, subject: Subject) -> str:
    if answer.error_code:
        return _name(answer.error_code)
    if answer.results_by_topic_v3_and_below:
        return _of_topics(answer.results_by_topic_v3_and_below)
    found = sorted(answer.results_by_transaction, key=lambda each: each.transactional_id == UNKNOWN_ID)
    return _joined(_of_topics(each.topic_results) for each in found)


def _of_topics(topics: Any) -> str:
    codes = sorted((t.name, p.partition_index, p.partition_error_code) for t in topics for p in t.results_by_partition)
    return _joined(_name(code) for _, _, code in codes)


def _committed(answer: Any, subject: Subject) -> str:
    return _joined(_name(partition.error_code) for topic in answer.topics for partition in topic.partitions)


def _produced(answer: Any, subject: Subject) -> str:
    return _name(answer.responses[0].partition_responses[0].error_code)


def _marked(answer: Any, subject: Subject) -> str:
    return _joined(_name(each.error_code) for one in answer.markers for t in one.topics for each in t.partitions)


def _described(answer: Any, subject: Subject) -> str:
    (found,) = answer.transaction_states
    if found.error_code:
        return _name(found.error_code)
    started = "started" if found.transaction_start_time_ms > 0 else f"start {found.transaction_start_time_ms}"
    places = sorted(f"{each.topic}-{partition}" for each in found.topics for partition in each.partitions)
    told = _identity(subject, found.producer_id, found.producer_epoch)
    return f"{found.transaction_state}, {told}, {started}, {found.transaction_timeout_ms} ms, {' '.join(places) or '-'}"


def _listed(answer: Any, subject: Subject) -> str:
    assert not answer.error_code
    found = [each for each in answer.transaction_states if each.transactional_id == subject.transactional_id]
    unknown = f", unknown {answer.unknown_state_filters}" if answer.unknown_state_filters else ""
    return (" ".join(each.transaction_state for each in found) or "not listed") + unknown


def _open_producers(answer: Any, subject: Subject) -> str:
    found = [
        each for each in answer.topics[0].partitions[0].active_producers if each.producer_id == subject.producer_id
    ]
    told = (
        f"epoch {each.producer_epoch - subject.epoch:+}, sequence {each.last_sequence}, "
        f"coordinator {each.coordinator_epoch}, {'closed' if each.current_txn_start_offset < 0 else 'open'}"
        for each in found
    )
    return " ".join(told) or "no producer"


# -- requests


def _description(subject: Subject, producer: Producer, version: int) -> Message:
    return DescribeTransactionsRequest(transactional_ids=[subject.transactional_id])


def _producers(subject: Subject, producer: Producer, version: int) -> Message:
    return dp.DescribeProducersRequest(topics=[dp.TopicRequest(name=DATA, partition_indexes=[ADDED])])


def _list(**filters: Any) -> Build:
    return lambda subject, producer, version: ListTransactionsRequest(**filters)


def _list_by_producer(subject: Subject, producer: Producer, version: int) -> Message:
    return ListTransactionsRequest(producer_id_filters=[producer.producer_id])


def _initialization(timeout_ms: int = TIMEOUT_MS) -> Build:
    return lambda subject, producer, version: init_producer_id(
        subject.transactional_id, producer if version >= 3 else NOBODY, timeout_ms
    )


def _addition(topics: Mapping[str, list[int]], *, verify_only: bool = False, with_unknown_id: bool = False) -> Build:
    def build(subject: Subject, producer: Producer, version: int) -> Message:
        asked = [ap.AddPartitionsToTxnTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
        if version <= 3:
            return ap.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=subject.transactional_id,
                v3_and_below_producer_id=producer.producer_id,
                v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=asked,
            )
        transactions = [
            ap.AddPartitionsToTxnTransaction(
                transactional_id=name,
                producer_id=producer.producer_id,
                producer_epoch=producer.epoch,
                verify_only=verify_only,
                topics=asked,
            )
            for name in (subject.transactional_id, *([UNKNOWN_ID] if with_unknown_id else []))
        ]
        return ap.AddPartitionsToTxnRequest(transactions=transactions)

    return build


def _offsets_addition(group: str) -> Build:
    return lambda subject, producer, version: AddOffsetsToTxnRequest(
        transactional_id=subject.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        group_id=group,
    )


def _end(committed: bool) -> Build:
    return lambda subject, producer, version: EndTxnRequest(
        transactional_id=subject.transactional_id,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        committed=committed,
    )


def _commit(group: str, topic: str = DATA, **member: Any) -> Build:
    def build(subject: Subject, producer: Producer, version: int) -> Message:
        committed = tc.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        return tc.TxnOffsetCommitRequest(
            transactional_id=subject.transactional_id,
            group_id=group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=[tc.TxnOffsetCommitRequestTopic(name=topic, partitions=[committed])],
            **member,
        )

    return build


def _record(partition: int, shift: int = 0) -> Build:
    """`shift`: of the sequence from the next one of the producer."""
    return lambda subject, producer, version: record_of(
        subject, partition, producer, max(0, subject.next_sequence + shift)
    )


def _marker(coordinator_epoch: int, topic: str = DATA) -> Build:
    def build(subject: Subject, producer: Producer, version: int) -> Message:
        marker = wm.WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            transaction_result=True,
            topics=[wm.WritableTxnMarkerTopic(name=topic, partition_indexes=[ADDED])],
            coordinator_epoch=coordinator_epoch,
        )
        return wm.WriteTxnMarkersRequest(markers=[marker])

    return build


_ADD, _GROUPS, _PRODUCE = "AddPartitionsToTxn", "AddOffsetsToTxn", "Produce"
_UNKNOWN = {DATA: [ADDED, 9], UNKNOWN_TOPIC: [0]}
_CLIENTS, _BROKERS, _BOTH = range(4), range(4, 6), range(6)

REQUESTS = [
    Request("DescribeTransactions", range(1), _description, _described, ITSELF),
    Request("DescribeProducers", range(1), _producers, _open_producers, ITSELF),
    Request("ListTransactions", range(2), _list(), _listed, ITSELF),
    Request("ListTransactions by producer", range(2), _list_by_producer, _listed),
    *(
        Request(f"ListTransactions in {state}", range(2), _list(state_filters=[state]), _listed, ITSELF)
        for state in STATES
    ),
    Request("ListTransactions for 1 h", range(1, 2), _list(duration_filter=HOUR_MS), _listed, ITSELF),
    Request("ListTransactions for 0 ms", range(1, 2), _list(duration_filter=0), _listed, ITSELF),
    Request("InitProducerId", range(6), _initialization(), _initialized, STARTING),
    Request("InitProducerId", range(3, 6), _initialization(), _initialized),
    Request("InitProducerId with timeout 0", range(6), _initialization(0), _initialized, STARTING),
    Request("InitProducerId with timeout 1 h", range(6), _initialization(HOUR_MS), _initialized, STARTING),
    Request(f"{_ADD} of an added partition", _CLIENTS, _addition({DATA: [ADDED]}), _added),
    Request(f"{_ADD} of another partition", _CLIENTS, _addition({DATA: [ADDED, OTHER]}), _added),
    Request(f"{_ADD} of an unknown topic", _BOTH, _addition(_UNKNOWN), _added, ITSELF),
    Request(f"{_ADD} between brokers", _BROKERS, _addition({DATA: [ADDED]}), _added),
    Request(
        f"{_ADD} between brokers, with an unknown id",
        _BROKERS,
        _addition({DATA: [OTHER]}, with_unknown_id=True),
        _added,
    ),
    Request(f"{_ADD} to verify", _BROKERS, _addition({DATA: [ADDED, OTHER]}, verify_only=True), _added),
    Request(f"{_ADD} to verify an unknown topic", _BROKERS, _addition(_UNKNOWN, verify_only=True), _added, ITSELF),
    Request(f"{_GROUPS} of an added group", range(5), _offsets_addition(GROUP), _code),
    Request(f"{_GROUPS} of another group", range(5), _offsets_addition(OTHER_GROUP), _code),
    Request(f"{_GROUPS} without a group", range(5), _offsets_addition(""), _code, ITSELF),
    Request("EndTxn commit", range(5), _end(True), _code),
    Request("EndTxn abort", range(5), _end(False), _code),
    Request("TxnOffsetCommit of an added group", range(5), _commit(GROUP), _committed),
    Request("TxnOffsetCommit of another group", range(5), _commit(OTHER_GROUP), _committed),
    Request("TxnOffsetCommit without a group", range(5), _commit(""), _committed, ITSELF),
    Request("TxnOffsetCommit of an unknown topic", range(5), _commit(GROUP, UNKNOWN_TOPIC), _committed, ITSELF),
    Request(
        "TxnOffsetCommit of an unknown member",
        range(3, 5),
        _commit(GROUP, generation_id=1, member_id="nobody"),
        _committed,
        ITSELF,
    ),
    Request("TxnOffsetCommit of another generation", range(3, 5), _commit(GROUP, generation_id=1), _committed, ITSELF),
    Request(f"{_PRODUCE} to an added partition", range(3, 12), _record(ADDED), _produced),
    Request(f"{_PRODUCE} to another partition", range(3, 12), _record(OTHER), _produced),
    Request(f"{_PRODUCE} with a gap in the sequence", range(3, 12), _record(ADDED, +5), _produced),
    Request(f"{_PRODUCE} of the last batch", range(3, 12), _record(ADDED, -1), _produced),
    *(
        Request(f"WriteTxnMarkers of coordinator epoch {epoch}", range(2), _marker(epoch), _marked)
        for epoch in (-1, 0, 5)
    ),
    Request("WriteTxnMarkers to an unknown topic", range(2), _marker(0, UNKNOWN_TOPIC), _marked, ITSELF),
]
