"""Lines of ``kafka-console-producer`` as records: key, headers and value (Kafka: LineMessageReader)."""

import re
import time
from collections.abc import Mapping

from ...base.frozen import frozen
from ...base.printable import printable
from ...protocol.records.record import Headers, Record

__all__ = ["LineError", "LineRecords"]

_KNOWN = {
    "parse.key": "false",
    "key.separator": "\t",
    "parse.headers": "false",
    "headers.delimiter": "\t",
    "headers.separator": ",",
    "headers.key.separator": ":",
    "ignore.error": "false",
}
_MARKER = "null.marker"


class LineError(Exception):
    """Why a line or a property is refused, in Kafka's words."""


@frozen
class _Separators:
    key: bytes
    headers_end: bytes
    header: re.Pattern[bytes]
    header_key: bytes


class LineRecords:
    """Passes over unknown properties, as Kafka does. Raises LineError for properties that contradict each other."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        given = {**_KNOWN, **properties}
        self._parses_key = _is_true(given["parse.key"])
        self._parses_headers = _is_true(given["parse.headers"])
        self._ignores_errors = _is_true(given["ignore.error"])
        marker = given.get(_MARKER)
        self._marker = None if marker is None else _bytes(marker)
        self._check(given)
        try:
            header = re.compile(_bytes(given["headers.separator"]))
        except re.error as error:
            raise LineError(f"headers.separator is no regular expression: {error}") from None
        self._separators = _Separators(
            _bytes(given["key.separator"]),
            _bytes(given["headers.delimiter"]),
            header,
            _bytes(given["headers.key.separator"]),
        )
        self._number = 0

    def record(self, line: bytes) -> Record:
        """The record of the next line. Raises LineError."""
        self._number += 1
        headers, rest = self._split(line, line, self._parses_headers, self._separators.headers_end, "headers delimiter")
        key, value = self._split(line, rest, self._parses_key, self._separators.key, "key separator")
        found = () if headers is None or headers == self._marker else self._headers(headers)
        return Record(0, time.time_ns() // 1_000_000, self._unmarked(key), self._unmarked(value), found)

    def _check(self, given: Mapping[str, str]) -> None:
        names = ["key.separator"] if self._parses_key else []
        if self._parses_headers:
            names += ["headers.delimiter", "headers.separator", "headers.key.separator"]
            for one, other in (
                ("headers.delimiter", "headers.separator"),
                ("headers.delimiter", "headers.key.separator"),
                ("headers.separator", "headers.key.separator"),
            ):
                if given[one] == given[other]:
                    raise LineError(f"{one} and {other} may not be equal")
        for name in names:
            if not given[name]:
                raise LineError(f"{name} may not be empty")
            if given[name] == given.get(_MARKER):
                raise LineError(f"{_MARKER} and {name} may not be equal")

    def _split(
        self, line: bytes, text: bytes, is_wanted: bool, separator: bytes, name: str
    ) -> tuple[bytes | None, bytes]:
        """The part in front of the separator, None if there is none, and the rest."""
        if not is_wanted:
            return None, text
        before, found, behind = text.partition(separator)
        if found:
            return before, behind
        if self._ignores_errors:
            return None, text
        raise LineError(f"No {name} found on line number {self._number}: '{_text(line)}'")

    def _headers(self, text: bytes) -> Headers:
        pairs = self._separators.header.split(text)
        while pairs and not pairs[-1]:
            pairs.pop()  # as Java does
        found: list[tuple[str, bytes | None]] = []
        for pair in pairs:
            name, separator, value = pair.partition(self._separators.header_key)
            if not separator and not self._ignores_errors:
                raise LineError(f"No header key separator found in pair '{_text(pair)}' on line number {self._number}")
            if name == self._marker:
                raise LineError(
                    f"Header keys should not be equal to the null marker '{_text(name)}' as they can't be null"
                )
            found.append((name.decode("utf-8", "surrogateescape"), self._unmarked(value) if separator else None))
        return tuple(found)

    def _unmarked(self, text: bytes | None) -> bytes | None:
        return None if text == self._marker else text


def _is_true(text: str) -> bool:
    return text.strip().lower() == "true"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return printable(data.decode("utf-8", "replace"))
