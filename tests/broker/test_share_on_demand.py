"""The share coordination of a broker is made at the first need, and ends with its broker whenever it was made."""

from typing import Any
from uuid import UUID

import pytest
from pybroker.broker.coordinator.share.ports import SharePartitionKey
from pybroker.broker.share_on_demand import ShareOnDemand
from pybroker.protocol.errors import ErrorCode

KEY = SharePartitionKey("g", UUID(int=1), 0)


class Made:
    """A share coordination that notes what happens to it; its coordinator and its states are itself."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.coordinator = self.states = self

    def start(self) -> None:
        self.told.append("started")

    def kill(self) -> None:
        self.told.append("killed")

    async def close(self) -> None:
        self.told.append("closed")

    def __getattr__(self, name: str) -> Any:
        def asked(*arguments: Any) -> None:
            self.told.append(name)
            arguments[-1](ErrorCode.NONE)

        return asked


class Maker:
    def __init__(self) -> None:
        self.all: list[Made] = []

    def __call__(self) -> Any:
        self.all.append(Made())
        return self.all[-1]


def made_by(maker: Maker) -> Made:
    (made,) = maker.all
    return made


async def test_broker_without_share_groups_makes_nothing() -> None:
    maker = Maker()
    share = ShareOnDemand(maker)
    share.start()
    await share.close()
    share.kill()
    assert maker.all == []


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("initialize", (KEY, 0, 0)),
        ("read", (KEY, 0)),
        ("write", (KEY, None)),
        ("delete", (KEY,)),
        ("read_summary", (KEY, 0)),
    ],
)
def test_each_call_for_a_state_makes_it_once_and_is_answered_by_it(call: str, arguments: tuple[Any, ...]) -> None:
    maker, answers = Maker(), list[ErrorCode]()
    share = ShareOnDemand(maker)
    share.start()
    for _ in range(2):
        getattr(share.states, call)(*arguments, answers.append)
    assert made_by(maker).told == ["started", call, call]
    assert answers == [ErrorCode.NONE, ErrorCode.NONE]


async def test_share_coordination_that_is_made_before_the_start_is_started_and_closed_with_the_broker() -> None:
    maker = Maker()
    share = ShareOnDemand(maker)
    share.get()
    assert made_by(maker).told == []
    share.start()
    await share.close()
    share.kill()
    assert made_by(maker).told == ["started", "closed", "killed"]


def test_share_coordination_that_is_made_after_the_end_answers_nothing() -> None:
    maker = Maker()
    share = ShareOnDemand(maker)
    share.start()
    share.kill()
    share.get()
    assert made_by(maker).told == ["killed"]
