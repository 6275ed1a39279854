"""Reads compose files: supports the part of YAML that such files need, and refuses everything else.

Supported: block mappings and lists; plain and double-quoted scalars; JSON lists in brackets; anchors of mappings,
aliases, and `<<` to merge one. Whole numbers are numbers, other scalars are text. Several files are merged as by
`docker compose -f A -f B`, and `${NAME:?…}` is replaced.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ComposeFileError", "merged", "parse", "read"]

_ENTRY = re.compile(r"(?P<key><<|[A-Za-z][A-Za-z0-9_.-]*):(?: +(?P<value>.*))?")
_PLAIN = re.compile(r"[A-Za-z0-9_./][^#]*")
_AMBIGUOUS = re.compile(r"[-+]?[0-9][0-9.:]*|true|false|yes|no|on|off|null|~|.*: .*|.*:", re.IGNORECASE)

_VARIABLE = re.compile(r"\$(?:\$|\{(?P<name>\w+):\?[^}]*\})")
_REPLACED = ("command", "test")
"""Compose joins other lists."""


class ComposeFileError(Exception):
    """A line is not supported."""


class _Line(NamedTuple):
    number: int
    indent: int
    text: str


def read(file: Path) -> dict[str, Any]:
    return parse(file.read_text())


def merged(*files: Path, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The files as one: a later file adds to mappings and lists, and replaces scalars. Raises KeyError for a variable
    that is not in `variables`.
    """
    whole: dict[str, Any] = {}
    for file in files:
        whole = _merge(whole, read(file))
    replaced = _replaced(whole, variables or {})
    assert isinstance(replaced, dict)
    return replaced


def _merge(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    found = dict(earlier)
    for key, value in later.items():
        before = found.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            found[key] = _merge(before, value)
        elif isinstance(before, list) and isinstance(value, list) and key not in _REPLACED:
            found[key] = [*before, *value]
        else:
            found[key] = value
    return found


def _replaced(value: Any, variables: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, variables) for key, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, variables) for each in value]
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: variables[match["name"]] if match["name"] else "$", value)
    return value


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
