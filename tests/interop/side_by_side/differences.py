"""Compares two recordings field by field."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from interop.side_by_side.conversation import Step
from interop.side_by_side.plain_form import Json

__all__ = ["ABSENT", "Difference", "differences"]

ABSENT = "no such field"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference. `where`: step and path in the response, such as `2 Metadata v1: topics.0.errorCode`."""

    where: str
    kafka: Json
    pybroker: Json

    def __str__(self) -> str:
        return f"{self.where}\n    Kafka    {self.kafka!r}\n    pybroker {self.pybroker!r}"


def differences(kafka: Sequence[Step], pybroker: Sequence[Step]) -> list[Difference]:
    found: list[Difference] = []
    for one, other in zip(kafka, pybroker, strict=False):
        if one.name != other.name:
            return [*found, Difference("the course of the scenario", one.name, other.name)]
        found += [
            Difference(f"{one.name}: {path}", *values) for path, *values in _compare("", one.answer, other.answer)
        ]
    if len(kafka) != len(pybroker):
        found.append(Difference("the number of steps", len(kafka), len(pybroker)))
    return found


def _compare(path: str, one: Json, other: Json) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one | other:
            yield from _compare(_join(path, name), one.get(name, ABSENT), other.get(name, ABSENT))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _compare(_join(path, str(index)), left, right)
    elif one != other or type(one) is not type(other):
        yield path or "answer", one, other


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
