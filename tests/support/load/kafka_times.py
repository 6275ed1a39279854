"""The times after which Apache Kafka 3.9.1 answers one request of each API in each kind of trouble.

``kafka_answer_times.json`` has them, in seconds. `scripts/answer-times --store` measures them again.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from support.load.answer_times import BETWEEN_ROUNDS_S, AnswerTime

__all__ = ["SLACK_ROUNDS", "Bounds", "is_late", "kafka_times", "store_kafka_times"]

SLACK_ROUNDS = 40
"""pybroker may take this many rounds longer than Kafka: less than half a second on an idle machine."""
_FILE = Path(__file__).parent / "kafka_answer_times.json"
_DIGITS = 2

Bounds = tuple[float | None, float | None]
"""Seconds until the response, and until the response to the request behind it. None: no response while the trouble
lasted."""


def kafka_times(state: str) -> dict[str, Bounds]:
    """Kafka's times in this state of the cluster, by the name of the request."""
    stored: dict[str, dict[str, list[float | None]]] = json.loads(_FILE.read_text())
    return {name: (seconds, behind) for name, (seconds, behind) in stored[state].items()}


def store_kafka_times(found: Mapping[str, Iterable[AnswerTime]]) -> None:
    """Replace the times of the states in ``found``."""
    stored = json.loads(_FILE.read_text()) if _FILE.exists() else {}
    for state, times in found.items():
        stored[state] = {time.name: [_rounded(time.seconds), _rounded(time.seconds_behind)] for time in times}
    lines = [
        f" {json.dumps(state)}: {{\n"
        + ",\n".join(f"  {json.dumps(name)}: {json.dumps(bounds)}" for name, bounds in times.items())
        + "\n }"
        for state, times in stored.items()
    ]
    _FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def is_late(time: AnswerTime, bounds: Bounds) -> bool:
    """Whether the response, or the one to the request behind it, came later than Kafka's and the slack."""
    return any(
        bound is not None and (rounds is None or rounds > bound / BETWEEN_ROUNDS_S + SLACK_ROUNDS)
        for rounds, bound in zip((time.rounds, time.rounds_behind), bounds, strict=True)
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, _DIGITS)
