"""The checks of `pybroker doctor`, each with facts in which only what it looks for is wrong."""

from dataclasses import replace
from typing import Any

import pytest
from pybroker.cli.cluster.shapes import LogDirectory
from pybroker.cli.doctor.access_checks import kafka_like
from pybroker.cli.doctor.checks import CHECKS, results
from pybroker.cli.doctor.shapes import (
    BrokerFacts,
    ClockFacts,
    DirectoryFacts,
    ExpiringGroup,
    Facts,
    HostFacts,
    PortFacts,
    PortKind,
    Unknown,
)
from pybroker.cli.txns.shapes import HangingTransaction
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

VERSIONS = {int(ApiKey.FETCH): (0, 17)}
UNKNOWN = Unknown("not told")


def port(number: int, **changes: Any) -> PortFacts:
    good = PortFacts(host="kafka", port=number, resolved=("10.0.0.1",), kind=PortKind.PLAIN, versions=VERSIONS)
    return replace(good, **changes)


def metadata(
    *, isr: tuple[int, ...] = (1, 2, 3), leader: int = 1, controller: int = 2, internal: int = 3
) -> MetadataResponse:
    def topic(name: str, replicas: tuple[int, ...], in_sync: tuple[int, ...], led_by: int) -> MetadataResponseTopic:
        partition = MetadataResponsePartition(
            partition_index=0, leader_id=led_by, replica_nodes=list(replicas), isr_nodes=list(in_sync)
        )
        return MetadataResponseTopic(name=name, partitions=[partition])

    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=each, host="kafka", port=each) for each in (1, 2, 3)],
        cluster_id="own",
        controller_id=controller,
        topics=[
            topic("orders", (1, 2, 3), isr, leader),
            topic("__consumer_offsets", (1, 2, 3)[:internal], (1, 2, 3)[:internal], 1),
        ],
    )


def directory(**changes: Any) -> LogDirectory:
    good = LogDirectory(broker=1, directory="/d", error=None, replicas=1, size=1, total=100, usable=50)
    return replace(good, **changes)


def disk(**changes: Any) -> HostFacts:
    good = DirectoryFacts(directory="/d", kind="ext4", free=50, total=100, fsync_ms=(1.0, 2.0, 9.0))
    return replace(HOST, directories=(replace(good, **changes),))


def clock(ahead_ms: float, within_ms: float = 5) -> tuple[ClockFacts, ...]:
    return (ClockFacts(broker=1, ahead_ms=ahead_ms, within_ms=within_ms),)


HOST = HostFacts(file="broker.properties", open_files=100_000, log_files=12)
GOOD = Facts(
    wants_tls=False,
    mechanism=None,
    ports=(port(1),),
    metadata=metadata(),
    brokers=tuple(BrokerFacts(broker=each, port=port(each), cluster_id="own") for each in (1, 2, 3)),
    min_isr={"orders": 2, "__consumer_offsets": 1},
    directories=(directory(),),
    hanging=(),
    offsets_kept_minutes=7 * 24 * 60,
    clocks=clock(20),
    future=(),
    expiring=(),
    host=disk(),
)
TLS = replace(GOOD, wants_tls=True, ports=(port(1, kind=PortKind.TLS, certificate_days=90.0),), brokers=())
HANGING = HangingTransaction(
    topic="orders",
    partition=0,
    producer_id=7,
    producer_epoch=0,
    coordinator_epoch=0,
    start_offset=1234,
    last_written_ms=0,
)


def brokers(**changes: Any) -> tuple[BrokerFacts, ...]:
    return (*GOOD.brokers[:2], replace(GOOD.brokers[2], **changes))


def found(facts: Facts) -> dict[str, str]:
    return {row.check: row.verdict for row in results(facts) if row.verdict not in ("ok", "skipped")}


def test_good_facts_pass_all_checks() -> None:
    assert found(GOOD) == found(TLS) == {}
    assert [row.check for row in results(GOOD) if row.verdict == "skipped"] == ["D05"]
    assert [check.number for check in CHECKS] == [f"D{number:02}" for number in range(1, len(CHECKS) + 1)]


def test_checks_of_partitions_are_skipped_for_a_user_who_sees_no_topic() -> None:
    hidden = replace(GOOD, metadata=replace(metadata(), topics=[]), hides_topics=True)
    skipped = [row.check for row in results(hidden) if row.verdict == "skipped"]
    assert skipped == ["D05", "D11", "D13", "D16"]


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (replace(GOOD, ports=(port(1, resolved=(), kind=None, failure="kafka does not resolve"),)), {"D01": "FAIL"}),
        (replace(GOOD, ports=(port(1, kind=None, failure="refused"),)), {"D02": "FAIL"}),
        (replace(GOOD, ports=(port(1, kind=PortKind.CONTROLLER),)), {"D03": "FAIL"}),
        (replace(GOOD, ports=(port(1, kind=PortKind.HTTPS),)), {"D03": "FAIL"}),
        (replace(GOOD, ports=(port(1), port(2, kind=PortKind.TLS))), {"D03": "warn"}),
        (replace(GOOD, ports=(port(1, mechanisms=("PLAIN",)),)), {"D04": "FAIL"}),
        (replace(GOOD, mechanism="PLAIN"), {"D04": "FAIL"}),
        (replace(GOOD, mechanism="PLAIN", ports=(port(1, mechanisms=("GSSAPI",)),)), {"D04": "FAIL"}),
        (replace(TLS, ports=(replace(TLS.ports[0], certificate_failure="it ended"),)), {"D05": "FAIL"}),
        (replace(TLS, ports=(replace(TLS.ports[0], certificate_days=29.0),)), {"D05": "warn"}),
        (replace(GOOD, metadata=UNKNOWN, brokers=()), {"D06": "FAIL"}),
        (replace(GOOD, brokers=brokers(port=port(3, versions={int(ApiKey.FETCH): (0, 16)}))), {"D07": "warn"}),
        (replace(GOOD, brokers=brokers(port=port(3, failure="refused"))), {"D08": "FAIL"}),
        (replace(GOOD, brokers=brokers(port=port(3, kind=PortKind.TLS))), {"D08": "FAIL"}),
        (replace(GOOD, brokers=brokers(failure="it closed the connection")), {"D08": "FAIL"}),
        (replace(GOOD, brokers=brokers(cluster_id="other")), {"D09": "FAIL"}),
        (replace(GOOD, metadata=metadata(controller=-1)), {"D10": "FAIL"}),
        (replace(GOOD, metadata=metadata(leader=-1)), {"D11": "FAIL"}),
        (replace(GOOD, metadata=metadata(isr=(1,))), {"D12": "FAIL", "D13": "warn"}),
        (replace(GOOD, metadata=metadata(isr=(1, 2))), {"D13": "warn", "D14": "warn"}),
        (replace(GOOD, min_isr={"orders": 3}), {"D14": "warn"}),
        (replace(GOOD, min_isr={"orders": 4}), {"D14": "warn"}),
        (replace(GOOD, min_isr={"orders": 1}), {"D15": "warn"}),
        (replace(GOOD, metadata=metadata(internal=1)), {"D16": "warn"}),
        (replace(GOOD, directories=(directory(error="I/O error"),)), {"D17": "FAIL"}),
        (replace(GOOD, directories=(directory(usable=9),)), {"D17": "warn"}),
        (replace(GOOD, hanging=(HANGING,)), {"D18": "FAIL"}),
        (replace(GOOD, offsets_kept_minutes=60), {"D19": "warn"}),
        (replace(GOOD, clocks=clock(-1100)), {"D20": "warn"}),
        (replace(GOOD, clocks=clock(400_000)), {"D20": "FAIL"}),
        (replace(GOOD, future=("orders-0 (offset 7)",)), {"D21": "warn"}),
        (replace(GOOD, expiring=(ExpiringGroup(group="billing", left_ms=7_200_000),)), {"D22": "warn"}),
        (replace(GOOD, host=replace(disk(), refusal="log.dirs is empty")), {"D23": "FAIL"}),
        (replace(GOOD, host=replace(disk(), notices=("log.dir has no effect",))), {"D23": "warn"}),
        (replace(GOOD, host=replace(disk(), open_files=999)), {"D24": "FAIL"}),
        (replace(GOOD, host=replace(disk(), log_files=99_500)), {"D24": "warn"}),
        (replace(GOOD, host=disk(failure="permission denied")), {"D25": "FAIL"}),
        (replace(GOOD, host=disk(free=9)), {"D25": "warn"}),
        (replace(GOOD, host=disk(kind="overlay")), {"D25": "warn"}),
        (replace(GOOD, host=disk(kind="nfs4")), {"D25": "warn"}),
        (replace(GOOD, host=disk(fsync_ms=(1.0, 21.0, 22.0))), {"D26": "warn"}),
        (replace(GOOD, host=disk(fsync_ms=(1.0, 2.0, 1001.0))), {"D26": "warn"}),
    ],
)
def test_each_fault_is_found_by_its_check_only(facts: Facts, expected: dict[str, str]) -> None:
    assert found(facts) == expected
    assert all(row.remedy for row in results(facts) if row.check in expected)


def test_facts_that_are_unknown_fail_no_check() -> None:
    told_by_brokers = dict.fromkeys(("min_isr", "directories", "hanging", "offsets_kept_minutes"), UNKNOWN)
    others = dict.fromkeys(("clocks", "future", "expiring", "host"), UNKNOWN)
    facts = replace(GOOD, **told_by_brokers | others)  # type: ignore[arg-type]
    assert found(facts) == {}
    skipped = [row.check for row in results(facts) if row.finding == "not told"]
    assert skipped == ["D12", "D14", "D15", *(f"D{number}" for number in range(17, 27))]


def test_clock_that_was_asked_slowly_is_not_called_wrong() -> None:
    assert found(replace(GOOD, clocks=clock(3000, within_ms=2500))) == {}


@pytest.mark.parametrize(
    ("versions", "name"),
    [((0, 11), "2.3"), ((0, 17), "3.9"), ((4, 17), "4.0"), ((4, 18), "4.1"), ((4, 99), "4.1 or newer")],
)
def test_version_is_estimated_from_fetch(versions: tuple[int, int], name: str) -> None:
    assert kafka_like({int(ApiKey.FETCH): versions}) == name
