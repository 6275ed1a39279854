"""Files in Java's ``.properties`` syntax, as ``java.util.Properties.load`` reads them.

A line that ends in an odd number of backslashes continues on the next line, whose leading blanks are dropped. Blank
lines and lines that begin with ``#`` or ``!`` are comments, unless they continue a line. The key ends at the first
``=``, ``:`` or blank without a backslash before it. Then follow blanks, at most one ``=`` or ``:``, blanks, and the
value, including trailing blanks. ``\\t``, ``\\n``, ``\\r``, ``\\f`` and ``\\uXXXX`` are escapes as in Java; a backslash
before any other character is dropped. The last line of a key wins.
"""

import re
from pathlib import Path

from ..base.frozen import frozen
from ..base.unusable_path import why_unusable
from .config_error import ConfigError

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u(?P<hex>.{0,4})|(?P<other>.?))", re.DOTALL)
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*\\?", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_HEX = re.compile(r"[0-9a-fA-F]{4}")


@frozen
class Property:
    """One line ``name=value``, and the number of the line where it begins."""

    name: str
    value: str
    line: int


def read_properties(path: Path) -> dict[str, Property]:
    """Read a file in ISO-8859-1, as Kafka does; other characters are written ``\\uXXXX``.

    Raises:
        ConfigError: the file cannot be read, or an escape in it is broken.
    """
    try:
        text = path.read_bytes().decode("latin-1")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; correct the path") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {why_unusable(error, str(path))}") from error
    return parse_properties(text, source=str(path))


def parse_properties(text: str, source: str = "settings") -> dict[str, Property]:
    """Read a text; the last line of a name wins.

    Raises:
        ConfigError: a ``\\u`` is not followed by four hexadecimal digits; the error names ``source`` and the line.
    """
    properties: dict[str, Property] = {}
    for number, line in _logical_lines(text):
        key_match = _KEY.match(line)
        assert key_match is not None  # the expression matches an empty text
        separator = _SEPARATOR.match(line, key_match.end())
        assert separator is not None
        try:
            name, value = _unescape(key_match.group()), _unescape(line[separator.end() :])
        except ValueError as error:
            raise ConfigError(f"{source} line {number}: {error}") from None
        properties[name] = Property(name, value, number)
    return properties


def _logical_lines(text: str) -> list[tuple[int, str]]:
    lines: list[tuple[int, str]] = []
    pending = ""
    start = 0
    for number, natural in enumerate(_LINE_END.split(text), 1):
        line = natural.lstrip(_BLANKS)
        # A backslash alone on its line joins nothing: as in Java, the next line may be blank or a comment.
        if not pending:
            if not line or line[0] in "#!":
                continue
            start = number
        line = pending + line
        if _ends_in_backslash(line):
            pending = line[:-1]
        else:
            pending = ""
            lines.append((start, line))
    if pending:
        lines.append((start, pending))
    return lines


def _ends_in_backslash(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_escaped, text)
    # Characters beyond the first plane are two escapes in Java's UTF-16.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escaped(match: re.Match[str]) -> str:
    digits: str | None = match["hex"]
    if digits is None:
        other: str = match["other"]
        return _ESCAPES.get(other, other)
    if not _HEX.fullmatch(digits):
        raise ValueError("\\u must be followed by four hexadecimal digits")
    return chr(int(digits, 16))
