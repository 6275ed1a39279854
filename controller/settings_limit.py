"""How much may be set while brokers run: topics' own settings (``pybroker.topic.settings.max.bytes``; Kafka leaves that
to a policy class) and brokers' (``pybroker.broker.settings.max.bytes``; Kafka has what ZooKeeper takes as one node)."""

from collections.abc import Callable, Mapping

from ..protocol.errors import PolicyViolationError
from ..protocol.text_size import text_bytes

__all__ = ["SettingsLimit", "check_broker_settings", "settings_bytes"]

_SETTING_BYTES = 100
"""Of a broker: each is looked at again with each change, so that many short ones cost time."""


def settings_bytes(settings: Mapping[str, str | None]) -> int:
    """Names and values as texts. In memory, with the metadata store, they take about three times that."""
    return sum(text_bytes(name) + text_bytes(value or "") for name, value in settings.items())


class SettingsLimit:
    """``used_bytes`` says what those of all topics are by now; what this broker has not seen yet may come over it."""

    def __init__(self, max_bytes: int, used_bytes: Callable[[], int]) -> None:
        self._max_bytes = max_bytes
        self._used_bytes = used_bytes

    def check(self, before: Mapping[str, str], after: Mapping[str, str | None]) -> None:
        """Raises PolicyViolationError when a topic's settings grow and there is no room for that."""
        growth = settings_bytes(after) - settings_bytes(before)
        used = self._used_bytes()
        if growth > 0 and used + growth > self._max_bytes:
            raise PolicyViolationError(
                f"The settings of all topics have {used} bytes; with {growth} more they would have over "
                f"{self._max_bytes}, which pybroker.topic.settings.max.bytes allows."
            )


def check_broker_settings(before: Mapping[str, str], after: Mapping[str, str], max_bytes: int) -> None:
    """Raises PolicyViolationError when what is set for a broker, or for all, grows over ``max_bytes``."""
    size = settings_bytes(after) + _SETTING_BYTES * len(after)
    if size > max_bytes and size > settings_bytes(before) + _SETTING_BYTES * len(before):
        raise PolicyViolationError(
            f"{len(after)} settings of {size} bytes, with {_SETTING_BYTES} for each, are more than the {max_bytes} "
            "that pybroker.broker.settings.max.bytes allows."
        )
