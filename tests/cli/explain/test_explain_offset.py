"""``explain offset``: the rules, and offsets of a broker's partition."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.cli.explain.explain_offset import explained_offset
from pybroker.cli.explain.shapes import OffsetExplanation
from support.clients.commands import checked_json, run
from support.clients.produced import numbered, produce


@pytest.mark.parametrize(
    ("offset", "verdict"),
    [
        (4, "deleted"),
        (5, "readable"),
        (6, "readable"),
        (7, "open_transaction"),
        (8, "open_transaction"),
        (9, "next"),
        (10, "beyond_end"),
    ],
)
def test_offset_is_judged_by_the_bounds_of_its_partition(offset: int, verdict: str) -> None:
    assert explained_offset(TopicPartition("t", 0), offset, start=5, stable=7, end=9).verdict == verdict


def test_offsets_of_a_broker_are_explained(servers: str) -> None:
    run(servers, "topics", "create", "placed", "-p", "1", "-c", "retention.ms=-1", "--wait")
    produce(servers, numbered("placed", [0], 3))
    (row,) = checked_json(servers, OffsetExplanation, "explain", "offset", "placed:0", "2")
    assert (row["verdict"], row["start_offset"], row["end_offset"]) == ("readable", 0, 3)
    beyond = run(servers, "explain", "offset", "placed:0", "4")
    assert (beyond.code, beyond.out.splitlines()[0][:37]) == (10, "BEYOND THE END. placed-0 ends at 3: r")
    assert run(servers, "explain", "offset", "placed:7", "0").code == 3
