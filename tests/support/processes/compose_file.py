"""Reads compose.yaml: supports the part of YAML that such files need, and refuses everything else.

Supported: block mappings and lists; plain and double-quoted scalars; JSON lists in brackets; anchors of mappings,
aliases, and `<<` to merge one. Whole numbers are numbers, other scalars are text.
"""

import json
import re
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ComposeFileError", "parse", "read"]

_ENTRY = re.compile(r"(?P<key><<|[A-Za-z][A-Za-z0-9_.-]*):(?: +(?P<value>.*))?")
_PLAIN = re.compile(r"[A-Za-z0-9_./][^#]*")
_AMBIGUOUS = re.compile(r"[-+]?[0-9][0-9.:]*|true|false|yes|no|on|off|null|~|.*: .*|.*:", re.IGNORECASE)


class ComposeFileError(Exception):
    """A line is not supported."""


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def read(file: Path) -> dict[str, Any]:
    return parse(file.read_text())


def parse(text: str) -> dict[str, Any]:
    lines = [
        _Line(number, len(line) - len(line.lstrip()), line.strip())
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    parser = _Parser(lines)
    found = parser.block(0)
    if parser.lines or not isinstance(found, dict):
        raise ComposeFileError(f"line {parser.lines[0].number if parser.lines else 1}: not a mapping to its end")
    return found


class _Parser:
    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines
        self._anchors: dict[str, dict[str, Any]] = {}

    def block(self, indent: int) -> Any:
        """Parses the mapping or list at this indentation."""
        return self._list(indent) if self.lines and self.lines[0].text.startswith("- ") else self._mapping(indent)

    def _list(self, indent: int) -> list[Any]:
        items = []
        while self.lines and self.lines[0].indent == indent:
            line = self.lines.pop(0)
            if not line.text.startswith("- "):
                raise ComposeFileError(f"line {line.number}: not an item of the list")
            items.append(_scalar(line, line.text[2:].strip()))
        return items

    def _mapping(self, indent: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while self.lines and self.lines[0].indent == indent:
            line = self.lines.pop(0)
            match = _ENTRY.fullmatch(line.text)
            if match is None:
                raise ComposeFileError(f"line {line.number}: not an entry of a mapping")
            key, value = match["key"], (match["value"] or "").strip()
            if key in mapping:
                raise ComposeFileError(f"line {line.number}: {key} is there twice")
            if key == "<<":
                mapping = {**self._anchors[value.removeprefix("*")], **mapping}
            elif not value or value.startswith("&"):
                mapping[key] = self._below(indent)
                if value:
                    self._anchors[value[1:]] = mapping[key]
            else:
                mapping[key] = _scalar(line, value)
        return mapping

    def _below(self, indent: int) -> Any:
        if not self.lines or self.lines[0].indent <= indent:
            return None
        return self.block(self.lines[0].indent)


def _scalar(line: _Line, value: str) -> Any:
    if value.startswith(('"', "[")):
        return json.loads(value)
    if value.isdecimal():
        return int(value)
    if not _PLAIN.fullmatch(value) or _AMBIGUOUS.fullmatch(value):
        raise ComposeFileError(f"line {line.number}: {value} needs double quotes")
    return value
