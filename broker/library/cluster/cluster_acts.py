"""Acts on a cluster whose brokers run on threads: the broker that can do an act is found."""

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypeVar

from ...test_kit.act_error import ActError, NotHereError
from ...test_kit.acts import Acts
from ...test_kit.disk import Disk
from .thread_broker import ThreadBroker

__all__ = ["ClusterActs"]

Result = TypeVar("Result")


class ClusterActs:
    """Each method blocks until it is done. ``brokers``: those that run; ``broker``: the one with an id."""

    def __init__(self, brokers: Callable[[], Iterable[ThreadBroker]], broker: Callable[[int], ThreadBroker]) -> None:
        self._brokers = brokers
        self._broker = broker

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make broker ``to`` the preferred leader of a partition, and elect it. All brokers know it then."""
        self._on_one(lambda acts: acts.move_leader(topic, partition, to))
        self._on_all(lambda acts: acts.until_led_by(topic, partition, to))

    def move_coordinator(self, group: str, to: int | None = None) -> int:
        """Move the coordinator of a group to broker ``to``, or to any other broker; returns its id. All brokers know
        it then."""
        coordinator = self._on_one(lambda acts: acts.move_coordinator(group, to))
        self._on_all(lambda acts: acts.until_coordinated_by(group, coordinator))
        return coordinator

    def fence(self, transactional_id: str) -> dict[str, int]:
        """As `Acts.fence`."""
        return self._on_one(lambda acts: acts.fence(transactional_id))

    def disk(self, broker: int) -> Disk:
        """The disk of a broker, which can be made full, slow or broken."""
        return self._broker(broker).disk

    def _on_all(self, work: Callable[[Acts], Coroutine[Any, Any, None]]) -> None:
        for broker in self._brokers():
            broker.act(work)

    def _on_one(self, work: Callable[[Acts], Coroutine[Any, Any, Result]]) -> Result:
        """The result of the first broker that can do it. A broker that has not learned of a topic yet cannot."""
        refusals: list[ActError] = []
        for broker in self._brokers():
            try:
                return broker.act(work)
            except ActError as error:
                refusals.append(error)
        refusals.sort(key=lambda error: isinstance(error, NotHereError))
        raise next(iter(refusals), ActError("no broker is running"))
