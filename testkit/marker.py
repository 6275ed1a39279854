"""The arguments of ``@pytest.mark.kafka``, and the settings of pytest's configuration."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Literal

import pytest

from ..base.frozen import frozen

__all__ = ["KafkaOptions", "check_marker", "options_of"]

_CLUSTER, _OWN, _MODULE, _SESSION = "kafka_cluster", "kafka_broker", "kafka_broker_module", "kafka_broker_session"
_MODES = ("thread", "process")
_MOST_BROKERS = 32

Settings = Mapping[str, str | int | float]


@frozen
class KafkaOptions:
    """How the broker or the cluster of a test is made.

    ``brokers``: None: the default of the fixture. ``settings``: of the configuration and the markers; ``marked``: the
    names of those of the markers. ``topics``: partitions by name.
    """

    brokers: int | None = None
    settings: Settings = field(default_factory=dict)
    marked: frozenset[str] = frozenset()
    as_version: str | None = None
    topics: Mapping[str, int] = field(default_factory=dict)
    mode: Literal["thread", "process"] = "thread"


def options_of(node: pytest.Item | pytest.Collector, config: pytest.Config) -> KafkaOptions:
    """Join the markers of a test, its class and its module (the nearest counts) with ``kafka_settings``.

    Raises pytest.UsageError.
    """
    found: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("kafka"))):
        for name, value in _arguments(node, marker).items():
            is_joined = name in ("settings", "topics")
            found[name] = {**found.get(name, {}), **value} if is_joined else value
    found["marked"] = frozenset(found.get("settings", ()))
    found["settings"] = {**_configured(config), **found.get("settings", {})}
    return KafkaOptions(**found)


def check_marker(item: pytest.Item) -> None:
    """Raises pytest.UsageError for an argument that is unknown, wrong, or without effect on this test."""
    options = options_of(item, item.config)
    fixtures = getattr(item, "fixturenames", ())
    if options.brokers is not None and _CLUSTER not in fixtures:
        raise _refusal(item, f"brokers={options.brokers} needs the fixture {_CLUSTER}")
    if _OWN in fixtures or _CLUSTER in fixtures:
        return
    for node, marker in item.iter_markers_with_node("kafka"):
        is_of_module = not isinstance(node, pytest.Item | pytest.Class)
        if marker.kwargs and _SESSION in fixtures and not (is_of_module and _MODULE in fixtures):
            raise _refusal(
                item, f"{_first(marker)} has no effect on {_SESSION}, which all tests share; {_OWN} takes it"
            )
        if marker.kwargs and _MODULE in fixtures and not is_of_module:
            why = f"{_first(marker)} has no effect on {_MODULE}, which the tests of a module share"
            raise _refusal(item, f"{why}; it takes the markers of its module (pytestmark)")


def _first(marker: pytest.Mark) -> str:
    name, value = next(iter(marker.kwargs.items()))
    return f"{name}={value!r}"


def _configured(config: pytest.Config) -> dict[str, str]:
    found = {}
    for text in config.getini("kafka_settings"):
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise pytest.UsageError(f"kafka_settings: {text!r} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def _arguments(node: pytest.Item | pytest.Collector, marker: pytest.Mark) -> Mapping[str, Any]:
    if marker.args:
        raise _refusal(node, f"{marker.args[0]!r} has no name; write {', '.join(f'{name}=' for name in _CHECKS)}")
    for name, value in marker.kwargs.items():
        check = _CHECKS.get(name)
        if check is None:
            raise _refusal(node, f"unknown argument {name!r}; known are {', '.join(_CHECKS)}")
        wanted = check(value)
        if wanted is not None:
            raise _refusal(node, f"{name}={value!r} must be {wanted}")
    return marker.kwargs


def _refusal(node: pytest.Item | pytest.Collector, why: str) -> pytest.UsageError:
    return pytest.UsageError(f"{node.nodeid}: marker kafka: {why}")


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _check_brokers(value: object) -> str | None:
    return None if _is_count(value, _MOST_BROKERS) else f"a number from 1 to {_MOST_BROKERS}"


def _check_settings(value: object) -> str | None:
    is_good = isinstance(value, Mapping) and all(
        isinstance(name, str) and isinstance(each, str | int | float) for name, each in value.items()
    )
    return None if is_good else "a mapping of names to values, such as {'num.partitions': 3}"


def _check_version(value: object) -> str | None:
    return None if isinstance(value, str) else "a text, such as '2.8'"


def _check_topics(value: object) -> str | None:
    is_good = isinstance(value, Mapping) and all(
        isinstance(name, str) and _is_count(each, 10_000) for name, each in value.items()
    )
    return None if is_good else "a mapping of names to numbers of partitions, such as {'orders': 6}"


def _check_mode(value: object) -> str | None:
    return None if value in _MODES else " or ".join(map(repr, _MODES))


_CHECKS: Mapping[str, Callable[[object], str | None]] = {
    "brokers": _check_brokers,
    "settings": _check_settings,
    "as_version": _check_version,
    "topics": _check_topics,
    "mode": _check_mode,
}
"""By argument, what it must be; None when it is that."""
