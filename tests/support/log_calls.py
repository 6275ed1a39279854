"""Finds the calls in the source that write lines to the log, with the event of each."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.source_tree import name_of, nodes_of, python_files

ROOMS = ("base", "config", "protocol", "storage", "replication", "controller", "broker")
VARIES = "VARIES"
_LEVELS = {
    "info": "INFO",
    "warning": "WARNING",
    "error": "ERROR",
    "exception": "ERROR",
    "critical": "CRITICAL",
    "log": VARIES,
}
_HELPERS = ("base/gathered_lines.py",)
"""Files whose calls are made for others: `log_gathered` is found where it is called."""
_MAY_LOG = re.compile(rf"\blog_gathered\(|logger\.(?:{'|'.join(_LEVELS)})\(")
"""Text in each file with such calls. To walk through the trees of all files takes seconds, in each test process."""


class LogCall(NamedTuple):
    """A call that logs at INFO or above.

    Attributes:
        place: file and line.
        level: `VARIES` when it is decided as the line is logged.
        template: the text with its placeholders; None when it is not a literal.
        event: the id that the call names by `marked`, "" when it names none, None when it names another at each call.
        argument_count: values for the placeholders.
    """

    file: str
    place: str
    level: str
    template: str | None
    event: str | None
    argument_count: int


def log_calls() -> Iterator[LogCall]:
    for path in python_files(*ROOMS):
        if name_of(path) not in _HELPERS and _MAY_LOG.search(path.read_text()):
            yield from _calls_in(path)


def _calls_in(path: Path) -> Iterator[LogCall]:
    for node in nodes_of(path):
        match node:
            case ast.Call(func=ast.Name(id="log_gathered"), args=[_, level, event, _]):
                called = LogCall(name_of(path), "", ast.unparse(level).removeprefix("logging."), "%s", _text(event), 1)
            case ast.Call(func=ast.Attribute(value=logger, attr=method), args=values) if (
                method in _LEVELS and ast.unparse(logger) in ("logger", "self._logger")
            ):
                template, *arguments = values[1:] if method == "log" else values
                called = LogCall(name_of(path), "", _LEVELS[method], _text(template), _event_in(node), len(arguments))
            case _:
                continue
        yield called._replace(place=f"{name_of(path)}:{node.lineno}")


def _event_in(call: ast.Call) -> str | None:
    for keyword in call.keywords:
        if keyword.arg == "extra" and ast.unparse(keyword.value) != "QUIET":
            for node in ast.walk(keyword.value):
                match node:
                    case ast.Call(func=ast.Name(id="marked"), args=[event]):
                        return _text(event)
            return None
    return ""


def _text(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str(text)):
            return text
    return None
