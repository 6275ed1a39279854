"""The limits on settings that are stored in the metadata tree: of all topics and groups together, and of one broker.

``pybroker.topic.settings.max.bytes`` bounds topics and groups; Kafka leaves that to a policy class of the user's.
``pybroker.broker.settings.max.bytes`` bounds a broker; Kafka's bound is the size of a ZooKeeper node.
"""

from collections.abc import Callable, Mapping

from ...protocol.errors import PolicyViolationError
from ...protocol.text_size import text_bytes

__all__ = ["SettingsLimit", "check_broker_settings", "settings_bytes"]

_SETTING_BYTES = 100
"""Added for each setting of a broker: every change checks all of them again, so many short ones cost time."""


def settings_bytes(settings: Mapping[str, str | None]) -> int:
    """The size of names and values as text. With the metadata store they take about three times that in memory."""
    return sum(text_bytes(name) + text_bytes(value or "") for name, value in settings.items())


class SettingsLimit:
    """``used_bytes``: the size of the settings of all topics and groups; changes not seen yet may exceed the limit."""

    def __init__(self, max_bytes: int, used_bytes: Callable[[], int]) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = used_bytes

    def check(self, before: Mapping[str, str], after: Mapping[str, str | None]) -> None:
        """Raises PolicyViolationError when a topic's settings grow beyond the limit."""
        self.check_growth(settings_bytes(after) - settings_bytes(before))

    def check_growth(self, growth: int) -> None:
        """Raises PolicyViolationError when the settings grow by so many bytes beyond the limit."""
        used = self._used_bytes()
        if growth > 0 and used + growth > self._max_bytes:
            raise PolicyViolationError(
                f"The settings of all topics and groups have {used} bytes; {growth} more would exceed the limit of "
                f"{self._max_bytes} (pybroker.topic.settings.max.bytes)."
            )


def check_broker_settings(before: Mapping[str, str], after: Mapping[str, str], max_bytes: int) -> None:
    """Raises PolicyViolationError when the settings of one broker, or of all brokers, grow beyond ``max_bytes``."""
    size = settings_bytes(after) + _SETTING_BYTES * len(after)
    if size > max_bytes and size > settings_bytes(before) + _SETTING_BYTES * len(before):
        raise PolicyViolationError(
            f"{len(after)} settings have {size} bytes, counting {_SETTING_BYTES} for each; the limit is {max_bytes} "
            "(pybroker.broker.settings.max.bytes)."
        )
