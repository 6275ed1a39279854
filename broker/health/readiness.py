"""Whether a broker is ready for clients, and the reasons when it is not."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Readiness", "ReadinessParts"]

_OK = ""


@dataclass(slots=True)
class ReadinessParts:
    """The parts of the broker that are asked. The defaults stand for parts that do not exist yet.

    Attributes:
        step: what the start waits for, as a noun; None when it waits for nothing.
        recovered_share: of the logs' recovery, from 0 to 1; None when none is under way.
        is_registered: whether the broker is registered in the cluster.
        online_directories: the number of log directories that can be used.
    """

    is_running: Callable[[], bool]
    is_ending: Callable[[], bool]
    has_failed: Callable[[], bool]
    step: Callable[[], str | None]
    recovered_share: Callable[[], float | None] = lambda: None
    is_registered: Callable[[], bool] = lambda: False
    online_directories: Callable[[], int] = lambda: 0


class Readiness:
    """Answers from memory, at any time."""

    def __init__(self, parts: ReadinessParts) -> None:
        self.parts = parts

    def reasons(self) -> list[str]:
        """Empty when the broker is ready."""
        return [reason for reason in self.checks().values() if reason != _OK]

    def checks(self) -> Mapping[str, str]:
        """Each check with the reason why it fails, or "". The checks after a failed start or before its end say
        nothing."""
        parts = self.parts
        checks = {"lifecycle": self._lifecycle()}
        if parts.is_running():
            checks["registration"] = _OK if parts.is_registered() else "the broker is not registered in the cluster"
            checks["log directories"] = _OK if parts.online_directories() else "no log directory is online"
        return checks

    def _lifecycle(self) -> str:
        parts = self.parts
        if parts.has_failed():
            return "the broker cannot go on; its log says why"
        if parts.is_ending():
            return "the broker is stopping"
        if parts.is_running():
            return _OK
        share = parts.recovered_share()
        if share is not None:
            return f"recovering {int(share * 100)} %"
        step = parts.step()
        return "the broker is starting" if step is None else f"the start waits for {step}"
