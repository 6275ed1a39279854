"""Options of a client as text by Kafka's names: from a file for Kafka's tools, or with a prefix from a Spark query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


class OptionError(ValueError):
    """An option is unknown, missing, malformed or contradicts another; the message names it."""


class GivenOptions:
    """The options that nothing has taken yet. `prefix` stands before each name where the user writes it."""

    def __init__(self, given: Mapping[str, str], prefix: str = "") -> None:
        self.prefix = prefix
        self._left = dict(given)

    def __contains__(self, name: object) -> bool:
        return name in self._left

    def __iter__(self) -> Iterator[str]:
        """The names that nothing has taken."""
        return iter(sorted(self._left))

    def named(self, name: str) -> str:
        """Returns the name as the user writes it."""
        return f"'{self.prefix}{name}'"

    def left(self) -> dict[str, str]:
        """Returns the options that nothing has taken."""
        return dict(self._left)

    def take(self, name: str) -> str | None:
        """Removes an option and returns its text; None if not set."""
        return self._left.pop(name, None)

    def take_all(self, *prefixes: str) -> GivenOptions:
        """Removes the options whose names begin with one of `prefixes` and returns them."""
        taken = {name: text for name, text in self._left.items() if name.startswith(prefixes)}
        for name in taken:
            del self._left[name]
        return GivenOptions(taken, self.prefix)

    def text(self, name: str, default: str) -> str:
        """Removes an option and returns its text."""
        return self._left.pop(name, default)

    def choice(self, name: str, default: str, choices: Mapping[str, int]) -> int:
        """Removes an option that must be one of the names in `choices`. Raises OptionError."""
        text = self.text(name, default)
        if text not in choices:
            raise OptionError(f"Option {self.named(name)} must be one of {', '.join(choices)}, not '{text}'")
        return choices[text]

    def number(self, name: str, default: int) -> int:
        """Removes an option that must be a whole number. Raises OptionError."""
        number = self.optional_number(name)
        return default if number is None else number

    def optional_number(self, name: str) -> int | None:
        """As `number`; None if not set."""
        text = self.take(name)
        if text is None:
            return None
        if not text.strip().isdigit():
            raise OptionError(f"Option {self.named(name)} must be a whole number, not '{text}'")
        return int(text)

    def boolean(self, name: str, default: bool) -> bool:
        """Removes an option that must be true or false. Raises OptionError."""
        text = self.text(name, str(default)).strip().lower()
        if text not in ("true", "false"):
            raise OptionError(f"Option {self.named(name)} must be true or false, not '{text}'")
        return text == "true"

    def addresses(self, name: str) -> tuple[tuple[str, int], ...]:
        """Removes an option that lists brokers as host:port. Raises OptionError."""
        text = self.take(name)
        if text is None:
            raise OptionError(f"Option {self.named(name)} must be given")
        found = []
        for part in text.split(","):
            host, colon, port = part.strip().rpartition(":")
            if not part.strip():
                continue
            host = host.rpartition("://")[2].removeprefix("[").removesuffix("]")
            if not colon or not host or not (port.isascii() and port.isdigit()):
                raise OptionError(f"Option {self.named(name)} must be like host:9092, not '{part.strip()}'")
            found.append((host, int(port)))
        if not found:
            raise OptionError(f"Option {self.named(name)} names no broker")
        return tuple(found)
