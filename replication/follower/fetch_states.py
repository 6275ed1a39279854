"""The partitions of one fetcher, each with its fetch position and its next step. Pure: time is passed in.

    Truncating   the log may have more than the leader's: ask the leader, or cut at the high watermark
    Fetching     the log is a prefix of the leader's, or the leader's responses say where it diverges

After an error either state may be delayed. A partition that needs an order of the controller (its leader epoch is over,
or its disk fails) is removed, and counts as failed until it is added again. States are immutable. A step that awaits
something replaces the state only if no new leader, stop or other response has replaced it meanwhile.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum, auto
from uuid import UUID

from ...base.frozen import frozen
from ...base.invariant import invariant
from ...base.topic_partition import TopicPartition

__all__ = ["FetchState", "FetchStates", "Phase"]

_FIRST_RETRY_MS = 10


class Phase(Enum):
    TRUNCATING = auto()
    FETCHING = auto()


@frozen
class FetchState:
    """``last_fetched_epoch`` is -1 when the log has no epochs. ``lag``: records behind the leader, None until a
    response has told it; 0 or less means in sync. ``delayed_until_ms`` is on the loop's clock; 0 means no delay.
    ``retry_ms``: the last delay of `FetchStates.retry_soon`, 0 after a response without an error."""

    topic_id: UUID | None
    fetch_offset: int
    leader_epoch: int
    phase: Phase
    last_fetched_epoch: int = -1
    lag: int | None = None
    delayed_until_ms: int = 0
    retry_ms: int = 0

    @property
    def is_in_sync(self) -> bool:
        return self.lag is not None and self.lag <= 0

    @property
    def is_steady(self) -> bool:
        """Fetching, in sync and not delayed: only a response or an order changes the next request."""
        return self.phase is Phase.FETCHING and self.is_in_sync and not self.delayed_until_ms

    def is_delayed(self, now_ms: int) -> bool:
        return now_ms < self.delayed_until_ms

    def is_truncating(self, now_ms: int) -> bool:
        return self.phase is Phase.TRUNCATING and not self.is_delayed(now_ms)

    def is_fetching(self, now_ms: int) -> bool:
        return self.phase is Phase.FETCHING and not self.is_delayed(now_ms)

    @staticmethod
    def initial(
        topic_id: UUID | None, offset: int, leader_epoch: int, last_fetched_epoch: int, *, truncates_on_fetch: bool
    ) -> "FetchState":
        """The first state under a leader epoch. ``truncates_on_fetch``: the leader says in its fetch responses where
        logs diverge, so the fetcher need not ask first. A log without epochs gives the leader nothing to compare."""
        phase = Phase.FETCHING if truncates_on_fetch and last_fetched_epoch >= 0 else Phase.TRUNCATING
        epoch = last_fetched_epoch if truncates_on_fetch else -1
        return FetchState(topic_id, offset, leader_epoch, phase, epoch)

    def truncated(self, offset: int, last_epoch: int, *, is_final: bool) -> "FetchState":
        """The log was truncated to ``offset``; its last epoch is now ``last_epoch``. A delay stays."""
        phase = Phase.FETCHING if is_final else Phase.TRUNCATING
        return replace(self, fetch_offset=offset, last_fetched_epoch=last_epoch, phase=phase)

    def reset(self, offset: int, last_epoch: int, lag: int) -> "FetchState":
        """The leader does not have the fetch offset: continue from ``offset``."""
        return FetchState(self.topic_id, offset, self.leader_epoch, Phase.FETCHING, last_epoch, lag)

    def advanced(self, next_offset: int, last_epoch: int, leader_high_watermark: int) -> "FetchState":
        """A response was appended. ``last_epoch``: the epoch of its last batch, -1 when it had none."""
        invariant(next_offset >= self.fetch_offset, f"fetch offset {self.fetch_offset} would fall to {next_offset}")
        return FetchState(
            self.topic_id,
            next_offset,
            self.leader_epoch,
            Phase.FETCHING,
            last_epoch if last_epoch >= 0 else self.last_fetched_epoch,
            max(leader_high_watermark - next_offset, 0),
        )

    def delayed(self, until_ms: int) -> "FetchState":
        """0 ends the delay."""
        return replace(self, delayed_until_ms=until_ms)


class FetchStates:
    """The states, in the order of the next fetch: a partition whose state changed goes to the end."""

    def __init__(self) -> None:
        self._states: dict[TopicPartition, FetchState] = {}
        self._unsteady: dict[TopicPartition, None] = {}
        self._changed: dict[TopicPartition, None] = {}
        self.failed: dict[TopicPartition, None] = {}
        """Partitions that wait for an order of the controller."""

    def __len__(self) -> int:
        return len(self._states)

    def __iter__(self) -> Iterator[tuple[TopicPartition, FetchState]]:
        return iter(tuple(self._states.items()))

    @property
    def are_steady(self) -> bool:
        """See `FetchState.is_steady`."""
        return not self._unsteady

    def take_changed(self) -> dict[TopicPartition, None]:
        """The partitions that were added, removed or changed since the last call."""
        changed, self._changed = self._changed, {}
        return changed

    def note_change(self, topic_partition: TopicPartition) -> None:
        """Note a change that the state does not show."""
        self._changed[topic_partition] = None

    def end_delays(self, now_ms: int) -> None:
        """End the delays that are over."""
        for topic_partition in tuple(self._unsteady):
            state = self._states[topic_partition]
            if state.delayed_until_ms and not state.is_delayed(now_ms):
                self._put(topic_partition, state.delayed(0))

    def get(self, topic_partition: TopicPartition) -> FetchState | None:
        return self._states.get(topic_partition)

    def is_current(self, topic_partition: TopicPartition, state: FetchState) -> bool:
        return self._states.get(topic_partition) is state

    def begin(self, topic_partition: TopicPartition, state: FetchState) -> None:
        """Fetch under a new leader epoch. Under the same epoch the position is kept."""
        self.failed.pop(topic_partition, None)
        known = self._states.get(topic_partition)
        if known is None or known.leader_epoch != state.leader_epoch:
            self._put(topic_partition, state)

    def change(self, topic_partition: TopicPartition, before: FetchState, after: FetchState) -> bool:
        """Replace ``before``; returns False, and changes nothing, when it is not the partition's state any more."""
        if self._states.get(topic_partition) is not before:
            return False
        self._put(topic_partition, after)
        return True

    def delay(self, topic_partitions: Iterable[TopicPartition], now_ms: int, delay_ms: int) -> None:
        """Delay those partitions that are still here and not delayed already."""
        for topic_partition in topic_partitions:
            state = self._states.get(topic_partition)
            if state is not None and not state.is_delayed(now_ms):
                self._put(topic_partition, state.delayed(now_ms + delay_ms))

    def retry_soon(self, topic_partition: TopicPartition, now_ms: int, most_ms: int) -> None:
        """Delay a partition for some milliseconds, after each further refusal twice as long, at most ``most_ms``."""
        state = self._states.get(topic_partition)
        if state is not None and not state.is_delayed(now_ms):
            retry_ms = min(max(2 * state.retry_ms, _FIRST_RETRY_MS), most_ms)
            self._put(topic_partition, replace(state.delayed(now_ms + retry_ms), retry_ms=retry_ms))

    def fail(self, topic_partition: TopicPartition) -> None:
        if self._take_out(topic_partition) is not None:
            self.failed[topic_partition] = None

    def remove(self, topic_partition: TopicPartition) -> FetchState | None:
        self.failed.pop(topic_partition, None)
        return self._take_out(topic_partition)

    def next_due_ms(self, now_ms: int) -> int | None:
        """When the first delay ends; None: nothing is delayed."""
        states = (self._states[each] for each in self._unsteady)
        return min((state.delayed_until_ms for state in states if state.is_delayed(now_ms)), default=None)

    def _put(self, topic_partition: TopicPartition, state: FetchState) -> None:
        self._states.pop(topic_partition, None)
        self._states[topic_partition] = state
        self._changed[topic_partition] = None
        if state.is_steady:
            self._unsteady.pop(topic_partition, None)
        else:
            self._unsteady[topic_partition] = None

    def _take_out(self, topic_partition: TopicPartition) -> FetchState | None:
        self._changed[topic_partition] = None
        self._unsteady.pop(topic_partition, None)
        return self._states.pop(topic_partition, None)
