"""Dynamic settings: values that ``kafka-configs`` or an admin client set while the brokers run (KIP-226)."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TypeVar

from ..base.frozen import frozen

__all__ = ["NO_DYNAMIC_SETTINGS", "DynamicLayers", "overlaid", "synonym_group"]

Layer = TypeVar("Layer")

# Broker settings for the same thing in several units; the first that is set wins.
_SYNONYM_GROUPS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_GROUP_OF = {name: names for names in _SYNONYM_GROUPS for name in names}


@frozen
class DynamicLayers:
    """Names and values as text. ``per_broker`` takes precedence over ``cluster_wide``, and both over the file."""

    cluster_wide: Mapping[str, str] = field(default_factory=dict)
    per_broker: Mapping[str, str] = field(default_factory=dict, repr=False)  # may have passwords

    def of(self, *, per_broker: bool) -> Mapping[str, str]:
        """One of the two layers."""
        return self.per_broker if per_broker else self.cluster_wide

    def replaced(self, settings: Mapping[str, str], *, per_broker: bool) -> "DynamicLayers":
        """A copy with one layer replaced."""
        if per_broker:
            return DynamicLayers(self.cluster_wide, dict(settings))
        return DynamicLayers(dict(settings), self.per_broker)

    def get(self, name: str) -> str | None:
        """The value of ``name``, or None."""
        return self.per_broker.get(name, self.cluster_wide.get(name))

    def __contains__(self, name: object) -> bool:
        """Whether ``name`` has a value; two look-ups, because callers ask for every name."""
        return name in self.per_broker or name in self.cluster_wide

    def __iter__(self) -> Iterator[str]:
        """Every name of both layers."""
        return iter(dict.fromkeys([*self.per_broker, *self.cluster_wide]))


NO_DYNAMIC_SETTINGS = DynamicLayers()


def synonym_group(name: str) -> tuple[str, ...]:
    """The names that set the same thing as ``name``, highest precedence first; most often ``name`` alone."""
    return _GROUP_OF.get(name, (name,))


def overlaid(below: Mapping[str, Layer], above: Mapping[str, Layer]) -> dict[str, Layer]:
    """``below`` overridden by ``above``. A value of ``above`` also removes its synonyms in other units."""
    merged = dict(below)
    for name, value in above.items():
        for other in synonym_group(name):
            merged.pop(other, None)
        merged[name] = value
    return merged
