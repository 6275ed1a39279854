"""What requests that go on were decoded to has a bound, in virtual time."""

from pybroker.broker.network.decoded_requests import (
    DECODED_FOR_A_BYTE,
    LEAST_BYTES,
    SMALL_BYTES,
    STANDSTILL_S,
    DecodedAccounts,
    DecodedRequests,
)
from support.time.virtual_timers import VirtualTimers

LARGE = 2 * SMALL_BYTES
OFFSET_COMMIT = 8


class World:
    """Room for three large requests."""

    def __init__(self) -> None:
        self.timers = VirtualTimers()
        self.decoded = DecodedRequests(
            3 * LARGE * DECODED_FOR_A_BYTE - 1, self.timers.call_soon, self.timers.call_later
        )
        self.started: list[str] = []

    def fill(self) -> None:
        for name in "abc":
            assert Connection(self, name).asks()


class Connection:
    """With one request."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name

    def asks(self, frame_bytes: int = LARGE, *, has_others: bool = False) -> bool:
        if not self.world.decoded.may_start(self, frame_bytes, has_others=has_others):
            return False
        self.world.decoded.take(frame_bytes)
        self.world.started.append(self.name)
        return True

    def decoded_turn_has_come(self) -> None:
        assert self.asks()


def test_over_the_limit_a_large_request_waits_until_another_is_done() -> None:
    world = World()
    world.fill()
    assert not Connection(world, "d").asks()
    world.timers.advance(10)
    assert world.started == ["a", "b", "c"]
    world.decoded.give_back(LARGE)
    world.timers.advance(0)
    assert world.started == ["a", "b", "c", "d"]
    assert not Connection(world, "e").asks()


def test_over_the_limit_a_connection_has_one_small_request_at_a_time() -> None:
    world = World()
    world.fill()
    small = Connection(world, "small")
    assert small.asks(SMALL_BYTES)
    assert not small.asks(SMALL_BYTES, has_others=True)
    newcomers = [Connection(world, f"{number}").asks(SMALL_BYTES) for number in range(20)]
    assert newcomers == [True] * 5 + [False] * 15, "twice the limit is the end"


def test_requests_of_a_few_bytes_are_bounded_too() -> None:
    world = World()
    started = 0
    while Connection(world, "a").asks(27):
        started += 1
    assert started * LEAST_BYTES in range(6 * LARGE, 6 * LARGE + LEAST_BYTES + 1), "twice the limit"


def test_those_who_wait_come_in_order_one_a_turn_as_there_is_room_and_newcomers_after_them() -> None:
    world = World()
    world.fill()
    for name in "defg":
        assert not Connection(world, name).asks()
    for _ in range(2):
        world.decoded.give_back(LARGE)
    assert not Connection(world, "h").asks(), "there is room, for those who came before"
    world.timers.turn()
    assert world.started == list("abcd")
    world.timers.advance(0)
    assert world.started == list("abcde"), "what they took counts"
    for _ in range(5):
        world.decoded.give_back(LARGE)
        world.timers.advance(0)
    assert world.started == list("abcdefgh")
    assert not world.decoded.is_crowded


def test_when_none_is_ever_done_one_more_starts_now_and_then() -> None:
    world = World()
    world.fill()
    for name in "def":
        assert not Connection(world, name).asks()
    world.timers.advance(STANDSTILL_S * 1000)
    assert world.started == list("abcd")
    world.timers.advance(STANDSTILL_S * 2000)
    assert world.started == list("abcdef")
    world.timers.advance(STANDSTILL_S * 2000)
    assert world.timers.pending == 0


def test_while_one_of_them_goes_on_no_more_start() -> None:
    world = World()
    world.fill()
    assert not Connection(world, "d").asks()
    for _ in range(20):
        world.timers.advance(STANDSTILL_S * 900)
        world.decoded.moved()
    assert world.started == list("abc")
    world.timers.advance(STANDSTILL_S * 2000)
    assert world.started == list("abcd")


def test_those_of_administration_that_would_fill_an_account_alone_have_one_together() -> None:
    world = World()
    accounts = DecodedAccounts(LARGE * DECODED_FOR_A_BYTE, world.timers.call_soon, world.timers.call_later)
    assert accounts.used(19, LARGE) is None
    assert accounts.of(19, LARGE) is accounts.used(19, 10)
    assert len({accounts.of(19, LARGE), accounts.of(20, LARGE), accounts.of(20, LARGE + 1)}) == 3
    world.decoded = accounts.of(19, LARGE + 1)
    assert Connection(world, "a").asks(LARGE + 1)
    world.decoded = accounts.of(20, LARGE + 1)
    assert not Connection(world, "b").asks(LARGE + 1)
    world.decoded = accounts.of(20, LARGE)
    assert Connection(world, "c").asks(LARGE)
    world.decoded = accounts.of(OFFSET_COMMIT, LARGE + 1)
    assert Connection(world, "d").asks(LARGE + 1), "clients at work do not wait for it"


def test_one_that_is_gone_keeps_nobody_waiting() -> None:
    world = World()
    world.fill()
    gone = Connection(world, "d")
    assert not gone.asks()
    world.decoded.forget(gone)
    world.decoded.give_back(LARGE)
    assert not world.decoded.is_crowded
    assert Connection(world, "e").asks()
