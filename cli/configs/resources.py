"""The things that have settings, as arguments name them: ``topic/orders``, ``broker/1``, ``brokers``."""

from enum import IntEnum
from typing import NamedTuple, Self

from ...base.command_parser import BAD_INPUT, CommandError
from ..suggestions import did_you_mean

__all__ = ["FORMS", "NamedResource", "ResourceKind"]

FORMS = "topic/NAME, broker/ID, brokers (the default of all), broker-logger/ID or group/NAME"


class ResourceKind(IntEnum):
    """The kinds of resources, by Kafka's numbers."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    GROUP = 32

    @property
    def word(self) -> str:
        """The word in an argument."""
        return self.name.lower().replace("_", "-")


_KINDS = {kind.word: kind for kind in ResourceKind}
_ALL_BROKERS = "brokers"


class NamedResource(NamedTuple):
    """A thing with settings. The settings of all brokers belong to the broker whose name is empty."""

    kind: ResourceKind
    name: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Raises CommandError."""
        if text == _ALL_BROKERS:
            return cls(ResourceKind.BROKER, "")
        word, slash, name = text.partition("/")
        kind = _KINDS.get(word)
        if kind is None or not slash or not name:
            suggestion = did_you_mean(word, [*_KINDS, _ALL_BROKERS])
            raise CommandError(f"{text}: must be {FORMS}{suggestion if kind is None else ''}", BAD_INPUT)
        if kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER) and not (name.isascii() and name.isdigit()):
            raise CommandError(f"{text}: the id of a broker must be a number", BAD_INPUT)
        return cls(kind, name)

    @property
    def broker_id(self) -> int | None:
        """The only broker that knows these settings; None: any."""
        is_of_one = self.kind is ResourceKind.BROKER_LOGGER or (self.kind is ResourceKind.BROKER and self.name)
        return int(self.name) if is_of_one else None

    def __str__(self) -> str:
        return f"{self.kind.word}/{self.name}" if self.name else _ALL_BROKERS
