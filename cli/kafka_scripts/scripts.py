"""The scripts by name. Each is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["SCRIPTS"]


def _topics(arguments: Sequence[str]) -> int:
    from .topic_command import topic_command

    return topic_command(arguments)


def _broker_api_versions(arguments: Sequence[str]) -> int:
    from .broker_api_versions_command import broker_api_versions_command

    return broker_api_versions_command(arguments)


SCRIPTS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "kafka-broker-api-versions": _broker_api_versions,
    "kafka-topics": _topics,
}
"""Each takes the arguments after its name and returns the exit code."""
