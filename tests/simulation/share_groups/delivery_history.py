"""Judges what the members of a share group (KIP-932) got: locks, delivery counts, and records that are done.

The members tell what they got and what was answered. `lock_watch.py` tells which brokers loaded share partitions and
locked records: a broker that loads one anew knows no locks, and one whose successor has loaded it may deliver again.
An administrator may let a group begin anew; what members did before counts no more then.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from simulation.checkers.history import Place

__all__ = ["Delivery", "DeliveryHistory", "Heard", "Load"]

_ROUNDING_S = 0.002
"""Brokers count the time of locks in milliseconds."""


class Load(NamedTuple):
    """A broker began to use a share partition, as the leader in an epoch."""

    broker: str
    leader_epoch: int
    loaded_s: float


@dataclass(eq=False, slots=True)
class Heard:
    """A share session of a member. ``proven_s``: the broker knew it at this time, as a response shows."""

    broker: str
    proven_s: float = -1.0


@dataclass(eq=False, slots=True)
class Delivery:
    """A record that a member got. ``locked_s``: the lock began then or later; ``spoken_s``: its member said something
    about the record, which may have ended the lock.
    """

    member_id: str
    session: Heard
    count: int
    asked_s: float
    received_s: float
    locked_s: float
    spoken_s: float = float("inf")


class DeliveryHistory:
    """``report`` is called with each violation that is seen at once. ``lock_s``, ``limit``: settings of the group."""

    def __init__(self, report: Callable[[str], None], lock_s: float, limit: int) -> None:
        self._report = report
        self._lock_s = lock_s
        self._limit = limit
        self.deliveries: dict[Place, dict[int, list[Delivery]]] = defaultdict(lambda: defaultdict(list))
        self.settled: dict[Place, dict[int, float]] = defaultdict(dict)
        """When it was answered that a record is accepted or rejected."""
        self._released: dict[tuple[Place, int], tuple[float, int]] = {}
        self.loads: dict[Place, list[Load]] = defaultdict(list)
        self.finished: dict[Place, set[int]] = defaultdict(set)
        """The records that members accepted or rejected, whatever the response was."""
        self.locked: dict[Place, Counter[int]] = defaultdict(Counter)
        """How often brokers locked a record for a member."""
        self.begins: dict[Place, int] = {}
        """The offsets before which nothing may be delivered, because the group begins at the end of the log."""
        self.altered: dict[Place, int | None] = {}
        """The offsets that an administrator set; None: the offset was deleted."""
        self.in_doubt: set[Place] = set()
        """Partitions whose offsets an administrator changed, and did not learn whether it was done."""

    # -- what happens

    def begin_anew(self, place: Place, offset: int | None) -> None:
        """It was answered that an administrator set the start offset, or deleted it, while nobody was a member."""
        for of_place in (self.deliveries, self.settled, self.finished, self.locked):
            of_place.pop(place, None)
        self._released = {key: count for key, count in self._released.items() if key[0] != place}
        self.begins.pop(place, None)
        self.in_doubt.discard(place)
        self.altered[place] = offset

    def delivered(self, place: Place, offset: int, delivery: Delivery) -> None:
        """A member got a record."""
        if place in self.in_doubt:
            return
        name = f"{place[0]}-{place[1]}: record {offset}"
        if not 1 <= delivery.count <= self._limit:
            self._report(f"{name} is delivered the {delivery.count}. time, of at most {self._limit}")
        if not self._is_deposed(place, delivery):
            settled_s = self.settled[place].get(offset)
            if settled_s is not None and settled_s <= delivery.asked_s:
                self._report(f"{name} is delivered after it was done: {delivery}")
            released_s, count = self._released.get((place, offset), (delivery.asked_s + 1, 0))
            if released_s <= delivery.asked_s and delivery.count <= count:
                self._report(f"{name} was released after delivery {count}, and this is delivery {delivery.count}")
        self.deliveries[place][offset].append(delivery)

    def done(self, place: Place, offset: int, now_s: float) -> None:
        """It was answered that a record is accepted or rejected."""
        self.settled[place].setdefault(offset, now_s)

    def released(self, place: Place, offset: int, now_s: float, count: int) -> None:
        """It was answered that a record is given back after this delivery."""
        before = self._released.get((place, offset))
        if before is None or before[1] < count:
            self._released[place, offset] = now_s, count

    def renewed(self, delivery: Delivery, now_s: float) -> None:
        """It was answered that a lock is renewed. That is so unless the lock had ended: a broker also accepts what is
        said of records before the start offset, which another member may have finished."""
        if now_s < delivery.locked_s + self._lock_s - _ROUNDING_S:
            delivery.locked_s = delivery.spoken_s
        delivery.spoken_s = float("inf")

    def refused(self, place: Place, deliveries: Iterable[Delivery], now_s: float) -> None:
        """The member is told that it does not hold some of the records."""
        if place in self.in_doubt:
            return
        for each in deliveries:
            loads = self.loads[place]
            is_loaded = any(load.broker == each.session.broker and load.loaded_s >= each.asked_s for load in loads)
            if is_loaded or now_s >= each.locked_s + self._lock_s - _ROUNDING_S:
                return
        self._report(f"{place[0]}-{place[1]}: a member lost records under live locks: {list(deliveries)}")

    # -- the end

    def violations(
        self,
        first_offsets: dict[Place, int],
        ends: dict[Place, int],
        aborted: Mapping[Place, Collection[int]],
        markers: Mapping[Place, Collection[int]],
    ) -> Iterator[str]:
        """Two live locks of a record, records that nobody may get, and records that are done without reason.

        ``aborted``: offsets of aborted records, if the group reads committed ones only. ``markers``: of transactions.
        """
        for place, of_place in self.deliveries.items():
            for offset, deliveries in of_place.items() if place not in self.in_doubt else ():
                yield from self._two_locks(place, offset, deliveries)
                if offset in aborted.get(place, ()):
                    yield f"{place[0]}-{place[1]}: record {offset} is delivered, but its transaction was aborted"
                if offset < self.begins.get(place, 0):
                    yield f"{place[0]}-{place[1]}: record {offset} is from before the group began: {self.begins[place]}"
        for place, end in ends.items():
            for offset in range(first_offsets[place], end) if place not in self.in_doubt else ():
                is_done = offset in self.finished[place] or offset in aborted[place] or offset in markers[place]
                if not is_done and self.locked[place][offset] < self._limit:
                    yield f"{place[0]}-{place[1]}: record {offset} is done, but no member accepted or rejected it"

    def _two_locks(self, place: Place, offset: int, deliveries: list[Delivery]) -> Iterator[str]:
        for first in deliveries:
            lock_s = min(first.locked_s + self._lock_s - _ROUNDING_S, first.session.proven_s, first.spoken_s)
            for second in deliveries:
                is_more = second.count > first.count and second.received_s >= first.asked_s
                is_later = is_more or second.asked_s >= first.received_s
                is_other = second is not first and second.session.broker == first.session.broker
                if is_other and is_later and second.received_s < lock_s and not self._is_loaded(place, first, second):
                    yield f"{place[0]}-{place[1]}: record {offset} has two locks: {first} and {second}"

    def _is_loaded(self, place: Place, first: Delivery, second: Delivery) -> bool:
        """Whether the broker may have loaded the share partition between the two."""
        return any(
            load.broker == first.session.broker and first.asked_s <= load.loaded_s <= second.received_s
            for load in self.loads[place]
        )

    def _is_deposed(self, place: Place, delivery: Delivery) -> bool:
        """Whether another broker may have become the leader before the broker of the delivery knew it."""
        loads = [load for load in self.loads[place] if load.loaded_s <= delivery.received_s]
        own = max((load.leader_epoch for load in loads if load.broker == delivery.session.broker), default=-1)
        return any(load.leader_epoch > own for load in loads)
