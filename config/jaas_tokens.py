"""Splits JAAS text into tokens, by the rules of Java's StreamTokenizer.

**Why** not `shlex`: a password may contain `;`, `#` or `//`, and Java knows octal escapes.

**Limits.** A quote that is not closed on its line is an error here. Java ends the value there without a word.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from ..base.frozen import frozen

__all__ = ["FILE", "SETTING", "JaasError", "Token", "TokenKind", "tokens_of"]


class JaasError(ValueError):
    """JAAS text is malformed, or asks for something that the broker refuses. The message contains no values."""


class TokenKind(Enum):
    WORD = "word"
    QUOTED = "quoted"
    SIGN = "sign"


class Token(NamedTuple):
    """``text`` of a quoted token is its content. A repr would show passwords, so it shows the kind alone."""

    kind: TokenKind
    text: str
    line: int

    def __repr__(self) -> str:
        return f"Token({self.kind.value}, line {self.line})"

    @property
    def value(self) -> str | None:
        """The text of a name or a value; None for a sign such as ``=``."""
        return None if self.kind is TokenKind.SIGN else self.text


@frozen
class Dialect:
    """The characters of a word, as far as they are below 256; all others may stand in a word.

    ``begins``: the first character. ``quotes``: the quotes whose content may be a name or a value.
    """

    begins: frozenset[str]
    continues: frozenset[str]
    quotes: str


def _characters(*ranges: tuple[int, int]) -> frozenset[str]:
    return frozenset(chr(code) for first, last in ranges for code in range(first, last + 1))


_LETTERS = _characters((ord("a"), ord("z")), (ord("A"), ord("Z")), (160, 255)) | frozenset("$_")
_INSIDE = frozenset("0123456789.-")

SETTING = Dialect(_LETTERS, _LETTERS | _INSIDE, "\"'")
"""The value of ``sasl.jaas.config`` (Kafka's JaasConfig)."""
FILE = Dialect(_LETTERS | {"*"}, _LETTERS | {"*"} | _INSIDE, '"')
"""A file for ``java.security.auth.login.config`` (Java's ConfigFile)."""

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = "01234567"


def tokens_of(text: str, dialect: Dialect) -> Iterator[Token]:
    """The tokens between white space and comments. Raises JaasError."""
    at, line = 0, 1
    while at < len(text):
        character = text[at]
        if character <= " ":
            end = at + 1
        elif character == "/":
            end = _end_of_comment(text, at, line)
        elif character in "\"'":
            content, end = _quoted(text, at, line)
            kind = TokenKind.QUOTED if character in dialect.quotes else TokenKind.SIGN
            yield Token(kind, content, line)
        else:
            token = _word(text, at, line, dialect)
            yield token
            end = at + len(token.text)
        line += text.count("\n", at, end)
        at = end


def _end_of_comment(text: str, start: int, line: int) -> int:
    """A single slash begins a comment too, up to the end of its line."""
    if not text.startswith("/*", start):
        return min((end for mark in "\r\n" if (end := text.find(mark, start)) >= 0), default=len(text))
    end = text.find("*/", start + 2)
    if end < 0:
        raise JaasError(f"line {line}: a comment is not closed")
    return end + 2


def _word(text: str, start: int, line: int, dialect: Dialect) -> Token:
    def belongs(character: str, characters: frozenset[str]) -> bool:
        return character in characters or ord(character) > 255

    if not belongs(text[start], dialect.begins):
        return Token(TokenKind.SIGN, text[start], line)
    end = start + 1
    while end < len(text) and belongs(text[end], dialect.continues):
        end += 1
    return Token(TokenKind.WORD, text[start:end], line)


def _quoted(text: str, start: int, line: int) -> tuple[str, int]:
    """The content of a quoted value, and where the text goes on."""
    content: list[str] = []
    at = start + 1
    while at < len(text) and text[at] not in "\r\n":
        if text[at] == text[start]:
            return "".join(content), at + 1
        if text[at] == "\\":
            character, at = _escaped(text, at + 1)
        else:
            character, at = text[at], at + 1
        content.append(character)
    raise JaasError(f"line {line}: a quote is not closed")


def _escaped(text: str, at: int) -> tuple[str, int]:
    """The character behind a backslash; up to three octal digits stand for one, below 256."""
    digits = ""
    most = 3 if text[at : at + 1] in ("0", "1", "2", "3") else 2
    while len(digits) < most and text[at + len(digits) : at + len(digits) + 1] in tuple(_OCTAL):
        digits += text[at + len(digits)]
    if digits:
        return chr(int(digits, 8)), at + len(digits)
    character = text[at : at + 1]
    return _ESCAPES.get(character, character), at + 1
