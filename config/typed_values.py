"""Values of settings by name, with one getter for each type."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from .values import Value

# The getters are named after types, and would hide the types inside the class body.
_Int: TypeAlias = int
_List: TypeAlias = tuple[str, ...]


class TypedValues:
    """Read-only values of settings by Kafka's names.

    An unknown name raises KeyError and a getter of the wrong type TypeError: both are bugs of the program.
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value | None]) -> None:
        self._values = values

    def int(self, name: str) -> _Int:
        """An int, short or long."""
        value = self._values[name]
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "a whole number")
        return value

    def optional_int(self, name: str) -> _Int | None:
        """An int, short or long, or None where it is null."""
        return None if self._values[name] is None else self.int(name)

    def double(self, name: str) -> float:
        """A double."""
        value = self._values[name]
        if not isinstance(value, float):
            raise self._wrong(name, "a double")
        return value

    def boolean(self, name: str) -> bool:
        """A boolean."""
        value = self._values[name]
        if not isinstance(value, bool):
            raise self._wrong(name, "a boolean")
        return value

    def string(self, name: str) -> str:
        """A string, class or password that is not null."""
        value = self._values[name]
        if not isinstance(value, str):
            raise self._wrong(name, "a string")
        return value

    def optional_string(self, name: str) -> str | None:
        """A string, class or password, or None where it is null."""
        return None if self._values[name] is None else self.string(name)

    def list(self, name: str) -> _List:
        """A list that is not null."""
        value = self._values[name]
        if not isinstance(value, tuple):
            raise self._wrong(name, "a list")
        return value

    def optional_list(self, name: str) -> _List | None:
        """A list, or None where it is null."""
        return None if self._values[name] is None else self.list(name)

    def value(self, name: str) -> Value | None:
        """The value, of any type."""
        return self._values[name]

    def names(self) -> Iterator[str]:
        """Every name of the table."""
        return iter(self._values)

    def _wrong(self, name: str, wanted: str) -> TypeError:
        return TypeError(f"{name} is {self._values[name]!r}, not {wanted}")
