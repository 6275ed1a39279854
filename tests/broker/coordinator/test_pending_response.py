"""PendingResponse: a response that is known at once, later, or abandoned."""

import asyncio
import weakref
from functools import partial

from pybroker.broker.coordinator.pending_response import PendingResponse


class Surroundings:
    """The request and connection that the callback refers to."""


def shaped(surroundings: Surroundings, _result: int) -> object:
    return surroundings


async def test_take_returns_the_response_when_known_and_else_a_future() -> None:
    known = PendingResponse[int, str](str)
    known(1)
    assert known.take() == "1"
    later = PendingResponse[int, str](str)
    taken = later.take()
    later(2)
    later(3)
    assert isinstance(taken, asyncio.Future)
    assert await taken == "2"


async def test_an_abandoned_response_keeps_no_reference_to_its_request() -> None:
    surroundings = Surroundings()
    seen = weakref.ref(surroundings)
    answer = PendingResponse[int, object](partial(shaped, surroundings))
    taken = answer.take()
    del surroundings
    answer.abandon()
    answer(1)
    assert isinstance(taken, asyncio.Future)
    assert taken.cancelled()
    assert seen() is None
