"""``explain topic``: the rules, and topics of a broker whose verdict is compared with what the broker then does."""

import re
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Place
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.cli.explain.shapes import TopicExplanation, TopicGroup, TopicValue, WritingProducer
from pybroker.cli.explain.topic_rules import TopicEvidence, explained_topic, layout_text
from pybroker.cli.topics.shapes import Partition
from support.clients.commands import rows_of, run
from support.examples import examples

NOW_MS = 1_700_000_000_000.0
PRODUCER = WritingProducer(
    producer_id=7, transactional_id="pay", partitions=(0,), last_written_ms=round(NOW_MS), open_partitions=(0,)
)
GROUP = TopicGroup(group="billing", state="Stable", members=1, lag=3, lost_partitions=())


def partition(leader: int | None, replicas: str, isr: str, *, number: int = 0, offline: str = "") -> Partition:
    """A partition; brokers are digits, such as ``123``."""
    return Partition(
        partition=number,
        leader=leader,
        leader_epoch=1,
        replicas=tuple(map(int, replicas)),
        isr=tuple(map(int, isr)),
        offline_replicas=tuple(map(int, offline)),
    )


def evidence(*partitions: Partition, alive: str = "123", min_isr: int | None = 2) -> TopicEvidence:
    settings = [("cleanup.policy", "delete"), ("retention.ms", "86400000"), ("retention.bytes", "-1")]
    if min_isr is not None:
        settings.append(("min.insync.replicas", str(min_isr)))
    return TopicEvidence(
        topic="t",
        partitions=partitions,
        alive=frozenset(map(int, alive)),
        settings=tuple(TopicValue(name=name, value=value, source="default") for name, value in settings),
        producers=(),
        groups=(),
        not_told=(),
        now_ms=NOW_MS,
    )


FINE = partition(1, "123", "123")


@pytest.mark.parametrize(
    ("found", "kinds", "text", "culprit", "is_writable"),
    [
        (evidence(FINE), [], "is fine: 1 partition take", None, True),
        (evidence(FINE, min_isr=None), [], "is fine", None, None),
        (
            evidence(partition(None, "123", "3"), alive="12"),
            ["no_leader"],
            "is NOT AVAILABLE: 1 of 1 partition without a leader",
            "broker 3 is not alive",
            False,
        ),
        (
            evidence(partition(1, "123", "1"), alive="12"),
            ["under_min_isr"],
            "REFUSES WRITES with acks=all: 1 of 1 partition",
            "broker 2 is alive, but not in sync; broker 3 is not alive",
            False,
        ),
        (
            evidence(FINE, partition(2, "23", "2", number=1, offline="3"), min_isr=1),
            ["under_replicated", "min_isr_one"],
            "is IN TROUBLE, but 2 partitions take writes with acks=all",
            "broker 3 is alive, but the log directory is offline",
            True,
        ),
        (evidence(partition(1, "1", "1"), alive="1"), ["min_isr_above_replicas"], "is fine", None, True),
        (
            evidence(partition(1, "12", "1"), min_isr=3),
            ["under_min_isr", "min_isr_above_replicas"],
            "REFUSES WRITES with acks=all",
            "broker 2 is alive, but not in sync",
            False,
        ),
        (evidence(partition(1, "1", "1"), min_isr=1), ["single_replica"], "is fine", None, True),
        (evidence(partition(2, "123", "123")), ["not_preferred"], "is fine", None, True),
        (
            evidence(partition(2, "123", "23")),
            ["under_replicated", "preferred_not_in_sync"],
            "is IN TROUBLE",
            "broker 1 is alive, but not in sync",
            True,
        ),
    ],
)
def test_topic_is_explained_by_its_replicas(
    found: TopicEvidence, kinds: list[str], text: str, culprit: str | None, is_writable: bool | None
) -> None:
    view = explained_topic(found)
    assert [each.kind for each in view.findings] == kinds
    assert view.text.startswith(text)
    assert next((each.culprit for each in view.findings), None) == culprit
    assert view.is_writable is is_writable


def test_culprits_name_their_partitions_when_they_differ() -> None:
    view = explained_topic(evidence(partition(1, "12", "1"), partition(1, "13", "1", number=1), alive="1", min_isr=1))
    (trouble,) = [each for each in view.findings if each.is_trouble]
    assert trouble.text == "partition 0-1 have a replica that is not in sync"
    assert trouble.culprit == "broker 2 is not alive (partition 0); broker 3 is not alive (partition 1)"
    assert trouble.remedies == ("start broker 2", "start broker 3")


@pytest.mark.parametrize(
    ("silent_s", "members", "lost", "kinds", "is_healthy"),
    [
        (899, 1, (), [], True),
        (901, 1, (), ["silent_transaction"], False),
        (0, 1, (0,), ["offset_lost"], False),
        (0, 0, (0,), ["offset_lost"], True),
    ],
)
def test_clients_are_named(
    silent_s: int, members: int, lost: tuple[int, ...], kinds: list[str], is_healthy: bool
) -> None:
    producer = replace(PRODUCER, last_written_ms=round(NOW_MS) - silent_s * 1000)
    group = replace(GROUP, members=members, lost_partitions=lost)
    view = explained_topic(replace(evidence(FINE), producers=(producer,), groups=(group,)))
    assert [each.kind for each in view.findings] == kinds
    assert view.is_healthy is is_healthy


@st.composite
def partitions(draw: st.DrawFn) -> Partition:
    replicas = draw(st.lists(st.sampled_from("1234"), min_size=1, max_size=3, unique=True))
    isr = draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True))
    leader = draw(st.sampled_from([*map(int, isr), None]))
    return partition(leader, "".join(replicas), "".join(isr), number=draw(st.integers(0, 9)))


@given(st.lists(partitions(), min_size=1, max_size=5), st.sets(st.sampled_from("1234"), min_size=1), st.integers(1, 3))
@settings(max_examples=examples(50))
def test_verdict_agrees_with_each_partition(found: list[Partition], alive: set[str], min_isr: int) -> None:
    view = explained_topic(evidence(*found, alive="".join(alive), min_isr=min_isr))
    assert view.is_writable == all(
        each.leader is not None and len(each.isr) >= min(min_isr, len(each.replicas)) for each in found
    )
    complete = all(each.leader is not None and set(each.isr) == set(each.replicas) for each in found)
    assert view.is_healthy == (complete and bool(view.is_writable))
    assert ("is fine" in view.text) == view.is_healthy
    layout_text(view)


@pytest.mark.parametrize("min_isr", [1, 2])
def test_broker_accepts_writes_as_the_verdict_says(servers: str, min_isr: int) -> None:
    name = f"judged-{min_isr}"
    run(servers, "topics", "create", name, "-p", "2", "-c", f"min.insync.replicas={min_isr}", "--wait")
    ran = run(servers, "explain", "topic", name, "-o", "json")
    (row,) = rows_of(ran.out, TopicExplanation)
    assert (ran.code, row["is_writable"]) == (0, True), "a broker asks for no more replicas than there are"
    errors: list[object] = []
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "message.timeout.ms": 60_000, "retries": 0})
    producer.produce(name, b"value", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush() == 0
    assert (errors == [None]) is row["is_writable"]
    assert {"name": "min.insync.replicas", "value": str(min_isr), "source": "topic"} in row["settings"]


def test_producers_and_groups_of_the_topic_are_shown(servers: str) -> None:
    run(servers, "topics", "create", "used", "-p", "2", "--wait")
    run(servers, "topics", "create", "other", "-p", "1", "--wait")
    producer = Producer({"bootstrap.servers": servers, "transactional.id": "pay"})
    producer.init_transactions()
    producer.begin_transaction()
    for _ in range(3):
        producer.produce("used", b"value", partition=1)
    producer.flush()
    for topic in ("used", "other"):
        consumer = Consumer({"bootstrap.servers": servers, "group.id": f"reads-{topic}"})
        consumer.commit(offsets=[Place(topic, 1 if topic == "used" else 0, 0)], asynchronous=False)
        consumer.close()
    try:
        ran = run(servers, "explain", "topic", "used")
        assert ran.code == 0
        text = " ".join(ran.out.split())
        assert text.startswith("used is fine: 2 partitions take writes with acks=all ")
        assert text.count(" reader ") == 1
        assert text.endswith(" reader reads-used: Empty, 0 members, lag 3")
        assert re.search(
            r" writer producer id \d+ \(pay\): 1 partition, last [\d.]+ s ago, transaction open in 1 ", text
        )
    finally:
        producer.abort_transaction()


def test_unknown_topic_is_not_there(servers: str) -> None:
    assert run(servers, "explain", "topic", "missing").code == 3
