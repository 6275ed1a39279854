"""Tests of the memory that ResponseWriter counts for a reply that it cannot send."""

import asyncio
from typing import Any, cast

from pybroker.broker.network.region_sender import RegionSender
from pybroker.broker.network.request import Region, ReplyPart
from pybroker.broker.network.response_writer import SMALL_REGION, ResponseWriter
from support.in_process.network_peer import Stretch


class StuckSender:
    """A sender whose peer reads nothing until the test calls ``go_on``."""

    sent_bytes = 0

    def __init__(self) -> None:
        self.go_on: Any = None

    def send(self, region: Region, done: Any) -> bool:
        self.go_on = done
        return False


class Transport:
    def write(self, data: bytes) -> None: ...


def test_many_small_parts_behind_a_blocked_region_count_as_unsent() -> None:
    sender = StuckSender()
    writer = ResponseWriter(
        cast("asyncio.Transport", Transport()), lambda: cast("RegionSender", sender), lambda: None, lambda error: None
    )
    assert writer.unsent_bytes == 0
    region = Stretch(-1, 0, SMALL_REGION + 1)
    others: list[ReplyPart] = [b"x" * 10, region]
    assert not writer.send([b"head", region, *others * 2000])
    assert 2000 * (10 + 200) < writer.unsent_bytes < 2000 * (10 + 1000)
    for _ in range(2000):
        sender.go_on(None)
    assert writer.unsent_bytes < 1000
    sender.go_on(None)
    assert (writer.unsent_bytes, writer.blocked) == (0, False)
