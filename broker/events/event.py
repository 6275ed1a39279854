"""A row of the table of events: a kind of log line, with its stable id, its meaning and what to do."""

from typing import NamedTuple

__all__ = ["ROUTINE", "Event", "event"]

ROUTINE = "Nothing: this is routine."
_PACKAGE = __name__.partition(".")[0]


class Event(NamedTuple):
    """A kind of log line.

    Attributes:
        id: never changed and never used for another event.
        level: a name of `logging`; VARIES when it is decided as the line is logged.
        file: where the line is logged, from the root of the package.
        template: the text before its values are filled in; empty when the call names the event by `marked`.
        arguments: names of the values, in order: they become fields. `msg` stands for the line's whole text.
    """

    id: str
    level: str
    file: str
    template: str
    arguments: tuple[str, ...]
    meaning: str
    remedy: str

    @property
    def logger(self) -> str:
        """The name of the logger of the file."""
        return f"{_PACKAGE}.{self.file.removesuffix('.py').replace('/', '.')}"


def event(
    name: str, level: str, file: str, template: str, arguments: str, meaning: str, remedy: str = ROUTINE
) -> Event:
    """``arguments``: names with spaces between them."""
    return Event(name, level, file, template, tuple(arguments.split()), meaning, remedy)
