"""What was set while the brokers run, by ``kafka-configs`` or an admin client, above the file of settings (KIP-226)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

__all__ = ["NO_DYNAMIC_SETTINGS", "DynamicLayers", "overlaid", "synonym_group"]

Layer = TypeVar("Layer")

# Broker settings that say one thing in several units, first found first.
_SAME_THING = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_GROUP_OF = {name: names for names in _SAME_THING for name in names}


@dataclass(frozen=True, slots=True)
class DynamicLayers:
    """Names and values as text. ``per_broker`` stands above ``cluster_wide``, and both above the file."""

    cluster_wide: Mapping[str, str] = field(default_factory=dict)
    per_broker: Mapping[str, str] = field(default_factory=dict)

    def of(self, *, per_broker: bool) -> Mapping[str, str]:
        """One of the two."""
        return self.per_broker if per_broker else self.cluster_wide

    def replaced(self, settings: Mapping[str, str], *, per_broker: bool) -> "DynamicLayers":
        """The same with one of them exchanged."""
        if per_broker:
            return DynamicLayers(self.cluster_wide, dict(settings))
        return DynamicLayers(dict(settings), self.per_broker)

    def get(self, name: str) -> str | None:
        """What was set under the name."""
        return self.per_broker.get(name, self.cluster_wide.get(name))

    def __contains__(self, name: object) -> bool:
        """Whether something was set under the name. Asked for each name, it must not go through all of them."""
        return name in self.per_broker or name in self.cluster_wide

    def __iter__(self) -> Iterator[str]:
        """Every name in them."""
        return iter(dict.fromkeys([*self.per_broker, *self.cluster_wide]))


NO_DYNAMIC_SETTINGS = DynamicLayers()


def synonym_group(name: str) -> tuple[str, ...]:
    """The names under which Kafka looks for what ``name`` says, first found first; most often ``name`` alone."""
    return _GROUP_OF.get(name, (name,))


def overlaid(below: Mapping[str, Layer], above: Mapping[str, Layer]) -> dict[str, Layer]:
    """One layer upon another. What says the same in another unit goes, so that the upper layer's word counts."""
    merged = dict(below)
    for name, value in above.items():
        for other in synonym_group(name):
            merged.pop(other, None)
        merged[name] = value
    return merged
