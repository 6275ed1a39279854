"""Checks of single values; ``str(check)`` is the text that Kafka 3.9 prints for the check."""

import re
from typing import Protocol

from .values import BadValueError, Value, format_double


class ValueCheck(Protocol):
    """A condition on one value; the value is None when the setting is null."""

    def __call__(self, value: Value | None) -> None:
        """Raise BadValueError, which says what is allowed, if the value is not allowed."""
        ...

    def __str__(self) -> str:
        """The check as Kafka prints it in its documentation."""
        ...


class Range:
    """A number between two bounds, inclusive; None is no bound."""

    __slots__ = ("least", "most")

    def __init__(self, least: float | None, most: float | None) -> None:
        self.least = least
        self.most = most

    def __call__(self, value: Value | None) -> None:
        if not isinstance(value, int | float):
            raise BadValueError("must not be null")
        if self.least is not None and value < self.least:
            raise BadValueError(f"must be at least {_number(self.least)}")
        if self.most is not None and value > self.most:
            raise BadValueError(f"must be at most {_number(self.most)}")

    def __str__(self) -> str:
        parts = [_number(self.least) if self.least is not None else None, "...", None]
        if self.most is not None:
            parts[2] = _number(self.most)
        return "[" + ",".join(part for part in parts if part is not None) + "]"


class OneOf:
    """One of the given words, or a list of them."""

    __slots__ = ("words",)

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, value: Value | None) -> None:
        given = value if isinstance(value, tuple) else (value,)
        if any(word not in self.words for word in given):
            raise BadValueError(f"must be one of {', '.join(self.words)}")

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]"


class OneOfInAnyCase:
    """One of the given words, in any case."""

    __slots__ = ("words",)

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, value: Value | None) -> None:
        if not isinstance(value, str) or value.upper() not in self.words:
            raise BadValueError(f"must be one of {', '.join(self.words)}, in any case")

    def __str__(self) -> str:
        return f"(case insensitive) [{', '.join(self.words)}]"


class NotNull:
    """Anything but null."""

    __slots__ = ()

    def __call__(self, value: Value | None) -> None:
        if value is None:
            raise BadValueError("must not be null")

    def __str__(self) -> str:
        return "non-null string"


class NotEmpty:
    """Null, or a text of at least one character."""

    __slots__ = ()

    def __call__(self, value: Value | None) -> None:
        if value == "":
            raise BadValueError("must not be empty")

    def __str__(self) -> str:
        return "non-empty string"


class RangeOr:
    """A number between two bounds, or one number with a special meaning."""

    __slots__ = ("_other", "_range")

    def __init__(self, least: float, most: float | None, other: int) -> None:
        self._range = Range(least, most)
        self._other = other

    def __call__(self, value: Value | None) -> None:
        if value == self._other:
            return
        try:
            self._range(value)
        except BadValueError as error:
            raise BadValueError(f"{error}, or {self._other}") from None

    def __str__(self) -> str:
        return f"{self._range} or {self._other}"


class IsPattern:
    """Null, empty, or a regular expression of Python."""

    __slots__ = ()

    def __call__(self, value: Value | None) -> None:
        try:
            re.compile(str(value or ""))
        except (re.error, OverflowError, RecursionError) as error:
            raise BadValueError(f"must be a regular expression: {error}") from None

    def __str__(self) -> str:
        return "regular expression"


class Voters:
    """Kafka's two lists of KRaft controllers; nothing is checked, because pybroker does not read them."""

    __slots__ = ()

    def __call__(self, value: Value | None) -> None:
        return

    def __str__(self) -> str:
        return "non-empty list"


class ThrottledReplicas:
    """``*``, or a list of ``partition:broker``."""

    __slots__ = ()

    _REPLICA = re.compile(r"([0-9]+:[0-9]+)?")

    def __call__(self, value: Value | None) -> None:
        replicas = [element.strip() for element in value] if isinstance(value, tuple) else []
        if replicas != ["*"] and not all(self._REPLICA.fullmatch(replica) for replica in replicas):
            raise BadValueError("must be * or a list of partition:broker, like 0:1,1:2")

    def __str__(self) -> str:
        return "[partitionId]:[brokerId],[partitionId]:[brokerId],..."


def at_least(least: float) -> Range:
    return Range(least, None)


def between(least: float, most: float) -> Range:
    return Range(least, most)


def _number(value: float) -> str:
    return format_double(value) if isinstance(value, float) else str(value)
