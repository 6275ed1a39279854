"""The rules give the error codes of Apache Kafka 3.9.1 in every state.

`tests/interop/side_by_side/test_transaction_codes.py` asks a running Kafka for the same table.
"""

from collections.abc import Callable, Iterator

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.adding import add_offsets, add_partitions, verify_partitions
from pybroker.broker.coordinator.transaction.ending import completed, end, fence
from pybroker.broker.coordinator.transaction.init_rules import (
    InitRequest,
    check_request,
    initialize,
    new_transaction,
)
from pybroker.broker.coordinator.transaction.listing import ListFilter, describe, list_transactions
from pybroker.broker.coordinator.transaction.outcomes import Change, Outcome, Response, code_in_version
from pybroker.broker.coordinator.transaction.picture import MAX_PRODUCER_EPOCH, ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.registry import TransactionRegistry
from pybroker.broker.coordinator.transaction.requesting_producer import NO_PRODUCER, RequestingProducer
from pybroker.broker.coordinator.transaction.states import ENDING_STATES
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.transaction_codes import RECORDED, THEN, Case, recorded_cases

ID, TIMEOUT_MS, MAX_TIMEOUT_MS, HOUR_MS = "id", 600_000, 900_000, 3_600_000
FIRST_ID, FRESH_ID, OTHER_ID = 1_000, 2_000, 3_000
ADDED, OTHER, STUCK = (
    TopicPartition("codes-data", 0),
    TopicPartition("codes-data", 1),
    TopicPartition("codes-stuck", 0),
)
OFFSETS, OTHER_OFFSETS = TopicPartition("__consumer_offsets", 2), TopicPartition("__consumer_offsets", 0)


EXHAUSTED = "exhausted"
SITUATIONS = sorted({line.split(" | ")[0] for line in RECORDED.read_text(encoding="utf-8").splitlines()} - {EXHAUSTED})


class Coordinator:
    """The rules with a log whose records are committed at once, and leaders that write markers at once.

    Attributes:
        producer: that the requests are about.
        is_ending: the marker of one partition is never written.
        is_held: records are not committed any more.
    """

    def __init__(self) -> None:
        self.registry = TransactionRegistry(lambda: 1)
        self.registry.ownership.begin_loading(0, 0)
        self.registry.finish_loading(0, [])
        self.now_ms = 100 * HOUR_MS
        self.producer = RequestingProducer(OTHER_ID, 1)
        self.is_ending = self.is_held = False
        self.fresh_id = FRESH_ID

    # -- requests

    def initialize(self, producer: RequestingProducer = NO_PRODUCER, timeout_ms: int = TIMEOUT_MS) -> Response:
        request = InitRequest(timeout_ms, producer)
        code = check_request(ID, request, MAX_TIMEOUT_MS)
        if code is not ErrorCode.NONE:
            return Response(code)
        transaction = self.transaction
        if transaction is None:
            transaction = new_transaction(ID, FIRST_ID, timeout_ms, self.now_ms)
            self.registry.add(transaction)
        self.fresh_id += 1
        return self._done(initialize(transaction, request, self.now_ms, self.fresh_id))

    def add(self, *partitions: TopicPartition, producer: RequestingProducer | None = None) -> Response:
        return self._done(
            add_partitions(self.transaction, producer or self.producer, partitions, self.now_ms, transaction_version=0)
        )

    def add_offsets(self, producer: RequestingProducer, partition: TopicPartition) -> Response:
        return self._done(add_offsets(self.transaction, producer, partition, self.now_ms))

    def end(self, producer: RequestingProducer, *, is_commit: bool) -> Response:
        return self._done(end(self.transaction, producer, self.now_ms, is_commit=is_commit))

    def time_out(self) -> None:
        assert self.transaction is not None
        picture = fence(self.transaction, self.now_ms, None)
        assert isinstance(picture, TransactionPicture)
        self._write(picture)

    @property
    def transaction(self) -> Transaction | None:
        return self.registry.get(ID)

    def _done(self, outcome: Outcome) -> Response:
        if isinstance(outcome, Response):
            return outcome
        assert isinstance(outcome, Change)
        self._write(outcome.picture)
        return outcome.response

    def _write(self, picture: TransactionPicture) -> None:
        assert self.transaction is not None
        self.transaction.prepare(picture)
        if self.is_held:
            return
        self.transaction.complete()
        if picture.state in ENDING_STATES and not self.is_ending:
            self._write(completed(picture, self.now_ms))

    # -- situations

    def start(self, *, twice: bool = True) -> None:
        response = self.initialize()
        if twice:
            response = self.initialize()
        self.producer = RequestingProducer(response.producer_id, response.producer_epoch)

    def resume(self) -> None:
        self.start(twice=False)
        response = self.initialize(self.producer)
        self.producer = RequestingProducer(response.producer_id, response.producer_epoch)

    def begin(self, *partitions: TopicPartition) -> None:
        assert self.add(ADDED, *partitions).code is ErrorCode.NONE
        assert self.add_offsets(self.producer, OFFSETS).code is ErrorCode.NONE

    def describe(self) -> str:
        found = describe(self.registry, ID, lambda _: frozenset({STUCK}))
        if found.code is not ErrorCode.NONE:
            return found.code.name
        started = "started" if found.start_ms > 0 else f"start {found.start_ms}"
        places = " ".join(sorted(map(str, found.partitions))) or "-"
        told = self.identity(found.producer_id, found.producer_epoch)
        return f"{found.state}, {told}, {started}, {found.timeout_ms} ms, {places}"

    def identity(self, producer_id: int, epoch: int) -> str:
        if producer_id != self.producer.producer_id:
            return f"new id, epoch {epoch}"
        return "same epoch" if epoch == self.producer.epoch else f"epoch {epoch - self.producer.epoch:+}"


def unknown(_: Coordinator) -> None:
    pass


def empty(it: Coordinator) -> None:
    it.start()


def resumed(it: Coordinator) -> None:
    it.resume()


def ongoing(it: Coordinator) -> None:
    it.start()
    it.begin()


def fenced(it: Coordinator) -> None:
    ongoing(it)
    assert it.initialize().code is ErrorCode.CONCURRENT_TRANSACTIONS
    assert it.initialize().code is ErrorCode.NONE


def ending(it: Coordinator, *, is_commit: bool) -> None:
    it.is_ending = True
    it.start()
    it.begin(STUCK)
    assert it.end(it.producer, is_commit=is_commit).code is ErrorCode.NONE


def fenced_while_ending(it: Coordinator) -> None:
    it.is_ending = True
    it.start()
    it.begin(STUCK)
    it.initialize()


def ended(it: Coordinator, *, is_commit: bool) -> None:
    ongoing(it)
    assert it.end(it.producer, is_commit=is_commit).code is ErrorCode.NONE


def ended_after_resuming(it: Coordinator) -> None:
    it.resume()
    it.begin()
    assert it.end(it.producer, is_commit=True).code is ErrorCode.NONE


def timed_out(it: Coordinator) -> None:
    it.initialize()
    response = it.initialize(timeout_ms=3_000)
    it.producer = RequestingProducer(response.producer_id, response.producer_epoch)
    it.add(ADDED)
    it.time_out()


def held(
    before: Callable[[Coordinator], None], request: Callable[[Coordinator], object]
) -> Callable[[Coordinator], None]:
    def build(it: Coordinator) -> None:
        before(it)
        it.is_held = True
        request(it)

    return build


BUILDERS: dict[str, Callable[[Coordinator], None]] = {
    "unknown id": unknown,
    "Empty": empty,
    "Empty, resumed": resumed,
    "Empty, fenced": fenced,
    "Ongoing": ongoing,
    "Ongoing with records": ongoing,
    "PrepareCommit": lambda it: ending(it, is_commit=True),
    "PrepareAbort": lambda it: ending(it, is_commit=False),
    "PrepareAbort, fenced": fenced_while_ending,
    "CompleteCommit": lambda it: ended(it, is_commit=True),
    "CompleteCommit, resumed": ended_after_resuming,
    "CompleteAbort": lambda it: ended(it, is_commit=False),
    "CompleteAbort, timed out": timed_out,
    "new, Empty pending": held(unknown, lambda it: it.initialize()),
    "Empty, Empty pending": held(empty, lambda it: it.initialize()),
    "Empty, Ongoing pending": held(empty, lambda it: it.add(ADDED)),
    "Ongoing, Ongoing pending": held(ongoing, lambda it: it.add(OTHER)),
    "Ongoing, PrepareCommit pending": held(ongoing, lambda it: it.end(it.producer, is_commit=True)),
    "Ongoing, PrepareAbort pending": held(ongoing, lambda it: it.end(it.producer, is_commit=False)),
    "Ongoing, fence pending": held(ongoing, lambda it: it.initialize()),
}


# -- outcomes in the words of the table


def producer_of(it: Coordinator, name: str) -> RequestingProducer:
    producer_id, epoch = it.producer
    return {
        "a new producer": NO_PRODUCER,
        "the producer": it.producer,
        "an older epoch": RequestingProducer(producer_id, epoch - 1),
        "a newer epoch": RequestingProducer(producer_id, epoch + 1),
        "epoch -1": RequestingProducer(producer_id, -1),
        "another id": RequestingProducer(producer_id + 1_000_000, epoch),
    }[name]


def initialized(it: Coordinator, case: Case, producer: RequestingProducer) -> str:
    timeout_ms = {"timeout 0": 0, "timeout 1 h": HOUR_MS}.get(case.request.partition(" with ")[2], TIMEOUT_MS)
    response = it.initialize(producer, timeout_ms)
    if response.code is ErrorCode.NONE:
        return f"NONE, {it.identity(response.producer_id, response.producer_epoch)}"
    return code_in_version(ApiKey.INIT_PRODUCER_ID, case.version, response.code).name


def added(*partitions: TopicPartition) -> Callable[[Coordinator, Case, RequestingProducer], str]:
    def ask(it: Coordinator, case: Case, producer: RequestingProducer) -> str:
        code = it.add(*partitions, producer=producer).code
        return code_in_version(ApiKey.ADD_PARTITIONS_TO_TXN, case.version, code).name

    return ask


def verified(it: Coordinator, case: Case, producer: RequestingProducer) -> str:
    codes = verify_partitions(it.transaction, producer, [ADDED, OTHER])
    names = [codes[each].name for each in (ADDED, OTHER)]
    return names[0] if len(set(names)) == 1 else "+".join(names)


def offsets_added(partition: TopicPartition) -> Callable[[Coordinator, Case, RequestingProducer], str]:
    def ask(it: Coordinator, case: Case, producer: RequestingProducer) -> str:
        code = it.add_offsets(producer, partition).code
        return code_in_version(ApiKey.ADD_OFFSETS_TO_TXN, case.version, code).name

    return ask


def is_ended(it: Coordinator, case: Case, producer: RequestingProducer) -> str:
    code = it.end(producer, is_commit=case.request.startswith("EndTxn commit")).code
    return code_in_version(ApiKey.END_TXN, case.version, code).name


def described(it: Coordinator, case: Case, producer: RequestingProducer) -> str:
    return it.describe()


def listed(it: Coordinator, case: Case, producer: RequestingProducer) -> str:
    words = case.request.removeprefix("ListTransactions").split()
    wanted = ListFilter()
    if words[:1] == ["by"]:
        wanted = ListFilter(producer_ids=frozenset({producer.producer_id}))
    elif words[:1] == ["in"]:
        wanted = ListFilter(states=frozenset(words[1:]))
    elif words[:1] == ["for"]:
        wanted = ListFilter(duration_ms=HOUR_MS if words[2] == "h" else 0)
    found = list_transactions(it.registry, wanted, it.now_ms + 1)
    unknown_states = f", unknown {found.unknown_states}" if found.unknown_states else ""
    return (" ".join(each.state for each in found.listings) or "not listed") + unknown_states


REQUESTS: dict[str, Callable[[Coordinator, Case, RequestingProducer], str]] = {
    "DescribeTransactions": described,
    "InitProducerId": initialized,
    "InitProducerId with timeout 0": initialized,
    "InitProducerId with timeout 1 h": initialized,
    "AddPartitionsToTxn of an added partition": added(ADDED),
    "AddPartitionsToTxn of another partition": added(ADDED, OTHER),
    "AddPartitionsToTxn between brokers": added(ADDED),
    "AddPartitionsToTxn to verify": verified,
    "AddOffsetsToTxn of an added group": offsets_added(OFFSETS),
    "AddOffsetsToTxn of another group": offsets_added(OTHER_OFFSETS),
    "AddOffsetsToTxn without a group": offsets_added(OTHER_OFFSETS),
    "EndTxn commit": is_ended,
    "EndTxn abort": is_ended,
}


START_IN_MEMORY = [("Empty, fenced", "DescribeTransactions"), ("Empty, fenced", "ListTransactions for 1 h")]
"""Kafka keeps the start of the last transaction of an Empty id until the next load of the partition."""


def exhausted() -> Coordinator:
    """A coordinator whose producer has the last epoch."""
    it = Coordinator()
    it.producer = RequestingProducer(FIRST_ID, MAX_PRODUCER_EPOCH)
    transaction = new_transaction(ID, FIRST_ID, TIMEOUT_MS, it.now_ms)
    identity = ProducerIdentity(FIRST_ID, MAX_PRODUCER_EPOCH)
    it.registry.add(Transaction(ID, transaction.current._replace(producer=identity)))
    return it


def outcome_of(
    it: Coordinator,
    ask: Callable[[Coordinator, Case, RequestingProducer], str],
    case: Case,
    producer: RequestingProducer,
) -> str:
    """The outcome with the state that follows, in the words of the table."""
    before = it.describe()
    told = ask(it, case, producer)
    if told == "CONCURRENT_TRANSACTIONS":
        again = ask(it, case, producer)
        told = told if again == told else f"{THEN}{again}"
    if it.describe() != before:
        assert it.transaction is not None
        identity = it.transaction.current.producer
        told += f" → {it.transaction.state.title}, {it.identity(identity.producer_id, identity.epoch)}"
    return told


def asked(situation: str) -> Iterator[tuple[Case, str, str]]:
    """The requests about the coordinator's state, with the outcomes of Kafka and of the rules."""
    for case, told_by_kafka in recorded_cases(situation).items():
        ask = listed if case.request.startswith("ListTransactions") else REQUESTS.get(case.request)
        if ask is None or case[:2] in START_IN_MEMORY:
            continue
        it = Coordinator()
        BUILDERS[situation](it)
        told = outcome_of(it, ask, case, producer_of(it, case.producer))
        yield case, told_by_kafka, told


@pytest.mark.parametrize("situation", SITUATIONS)
def test_rules_answer_like_kafka(situation: str) -> None:
    found = list(asked(situation))
    assert len(found) > 100
    different = [
        f"{case}: Kafka {of_kafka!r}, the rules {ours!r}" for case, of_kafka, ours in found if of_kafka != ours
    ]
    assert not different, "\n".join(different)


def test_rules_answer_exhausted_producers_like_kafka() -> None:
    at_the_end, at_the_fence = exhausted(), exhausted()
    at_the_fence.begin()
    it = at_the_end
    steps: dict[str, tuple[Coordinator, Callable[[Coordinator, Case, RequestingProducer], str], RequestingProducer]] = {
        "AddPartitionsToTxn": (it, added(ADDED), it.producer),
        "EndTxn commit": (it, is_ended, it.producer),
        "EndTxn commit again": (it, is_ended, it.producer),
        "InitProducerId of the producer": (it, initialized, it.producer),
        "InitProducerId of the producer again": (it, initialized, it.producer),
        "EndTxn commit of the old producer id": (it, is_ended, it.producer),
        "InitProducerId of a new producer": (it, initialized, NO_PRODUCER),
        "InitProducerId of the old producer id": (it, initialized, it.producer),
        "InitProducerId at the last epoch": (at_the_fence, initialized, NO_PRODUCER),
        "InitProducerId after the new producer id": (at_the_fence, initialized, NO_PRODUCER),
    }
    recorded = recorded_cases(EXHAUSTED)
    found = {case: outcome_of(*steps[case.request][:2], case, steps[case.request][2]) for case in recorded}
    assert found == recorded


def test_the_table_has_every_situation() -> None:
    assert set(SITUATIONS) == set(BUILDERS)
