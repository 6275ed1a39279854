"""Reads a query into a tree.

    query = or ;  or = and {"or" and} ;  and = unary {["and"] unary} ;  unary = ["not"] (term | "(" or ")")
    term  = WORD | field op literal | field "?"
    field = key | value | value.path[0].x | header.NAME | partition | offset | time | size | error | path
    op    = "=" | "!=" | "<" | "<=" | ">" | ">=" | ":" (contains) | "^" (begins with) | "?" (is there)

A path alone is a path in the value. A text with blanks stands in double quotes, with JSON's escapes. Case matters.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TypeAlias

from ...base.frozen import frozen

MAX_CHARACTERS = 1_000
MAX_TERMS = 64
MAX_DEPTH = 16

_NUMBERS = ("partition", "offset", "time", "size")
_FIELDS = ("key", "value", "error", *_NUMBERS)
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BARE = re.compile(r'[^\s()"]+')
_NAME = re.compile(r"[A-Za-z_$][\w$\-]*(?:\.[\w$\-]+|\[\d{1,6}\])*")
_HEADER = re.compile(r"header\.([\w$\-.]+)")
_OPERATOR = re.compile(r"!=|<=|>=|[=<>:^?]")
_STEP = re.compile(r"\.?([\w$\-]+)|\[(\d{1,6})\]")
_BLANK = re.compile(r"\s*")


class QueryError(ValueError):
    """The query is wrong at the character `at`, counted from 0."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


@frozen
class Word:
    """The text is in the key, in the value, or in the value of a header."""

    text: str


@frozen
class BytesTerm:
    """A condition on bytes. `field`: key, value, or header, whose name is `name`."""

    field: str
    name: str
    operator: str
    literal: str


@frozen
class PathTerm:
    """A condition on a place in a JSON value. Steps are names of members and indexes of lists."""

    path: tuple[str | int, ...]
    operator: str
    literal: str


@frozen
class NumberTerm:
    """A condition on the partition, the offset, the time in ms, or the size in bytes."""

    field: str
    operator: str
    number: int


@frozen
class ErrorTerm:
    """A condition on the text that says why a value is not JSON."""

    operator: str
    literal: str


@frozen
class Not:
    """The part does not hold."""

    part: Query


@frozen
class And:
    """All parts hold."""

    parts: tuple[Query, ...]


@frozen
class Or:
    """At least one part holds."""

    parts: tuple[Query, ...]


Term: TypeAlias = "Word | BytesTerm | PathTerm | NumberTerm | ErrorTerm"
Query: TypeAlias = "Term | Not | And | Or"


def parse_query(text: str) -> Query:
    """Raises QueryError."""
    if len(text) > MAX_CHARACTERS:
        raise QueryError(f"the query has {len(text)} characters, at most {MAX_CHARACTERS} are allowed", MAX_CHARACTERS)
    parser = _Parser(text)
    query = parser.any_of(0)
    if parser.at < len(text):
        raise QueryError("there is no '(' for this ')'", parser.at)
    return query


class _Parser:
    """A position in the text. Each method reads one rule of the grammar and moves the position behind it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._terms = 0
        self.at = 0
        self._skip_blanks()

    def any_of(self, depth: int) -> Query:
        parts = [self._all_of(depth)]
        while self._take_keyword("or"):
            parts.append(self._all_of(depth))
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _all_of(self, depth: int) -> Query:
        parts = [self._unary(depth)]
        while self.at < len(self._text) and self._text[self.at] != ")" and not self._is_keyword("or"):
            self._take_keyword("and")
            parts.append(self._unary(depth))
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _unary(self, depth: int) -> Query:
        if depth > MAX_DEPTH:
            raise QueryError(f"more than {MAX_DEPTH} levels of brackets and 'not'", self.at)
        if self._take_keyword("not"):
            return Not(self._unary(depth + 1))
        if self._text.startswith("(", self.at):
            opened = self.at
            self.at += 1
            self._skip_blanks()
            inner = self.any_of(depth + 1)
            if not self._text.startswith(")", self.at):
                raise QueryError("this '(' is not closed", opened)
            self.at += 1
            self._skip_blanks()
            return inner
        return self._term()

    def _term(self) -> Query:
        began = self.at
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise QueryError(f"more than {MAX_TERMS} conditions", began)
        if began == len(self._text) or self._text[began] == ")":
            raise QueryError("a condition is missing here", began)
        if self._is_keyword("and") or self._is_keyword("or"):
            raise QueryError('a condition is missing here; write "and" or "or" in quotes to look for the word', began)
        if self._text[began] != '"':
            named = _HEADER.match(self._text, began) or _NAME.match(self._text, began)
            operator = None if named is None else _OPERATOR.match(self._text, named.end())
            if named is not None and operator is not None:
                return self._condition(named.group(), operator, began)
        text = self._literal(began)
        if not text:
            raise QueryError("the text to look for is empty", began)
        return Word(text)

    def _condition(self, name: str, found: re.Match[str], began: int) -> Query:
        operator = found.group()
        self.at = found.end()
        if operator == "?":
            if self.at < len(self._text) and not (self._text[self.at].isspace() or self._text[self.at] in "()"):
                raise QueryError(f"'{name}?' asks whether there is a {name}; nothing may follow the '?'", self.at)
            self._skip_blanks()
            literal = ""
        else:
            if self.at == len(self._text) or self._text[self.at].isspace() or self._text[self.at] in "()":
                raise QueryError(
                    f'what must {name} be compared with? For an empty text write {name}{operator}""', self.at
                )
            literal = self._literal(self.at)
        if name in _NUMBERS:
            return self._number_term(name, operator, literal, began, found)
        if name == "error":
            return ErrorTerm(operator, literal)
        if name in ("key", "value"):
            return BytesTerm(name, "", operator, literal)
        if name.startswith("header."):
            return BytesTerm("header", name.removeprefix("header."), operator, literal)
        return PathTerm(_steps(name.removeprefix("value") if _is_in_value(name) else name), operator, literal)

    def _number_term(self, name: str, operator: str, literal: str, began: int, found: re.Match[str]) -> Query:
        if operator not in _COMPARISONS:
            raise QueryError(f"{name} can be compared with {', '.join(_COMPARISONS)} only", found.start())
        number = _whole_number(literal)
        if number is None and name == "time":
            number = time_ms_of(literal)
            if number is None:
                raise QueryError("a time is like 2026-11-25T08:00, or milliseconds since 1970", found.end())
        if number is None:
            raise QueryError(f"{name} must be compared with a whole number", found.end())
        return NumberTerm(name, operator, number)

    def _literal(self, began: int) -> str:
        quoted = _QUOTED.match(self._text, began)
        if quoted is not None:
            self.at = quoted.end()
            try:
                text = json.loads(quoted.group(), strict=False)
                text.encode()
            except ValueError:
                raise QueryError("this text has an escape that JSON does not have", began) from None
            self._skip_blanks()
            return str(text)
        bare = _BARE.match(self._text, began)
        if bare is None:
            raise QueryError("this '\"' is not closed", began)
        self.at = bare.end()
        try:
            bare.group().encode()
        except UnicodeEncodeError:
            raise QueryError("this text is not valid Unicode", began) from None
        self._skip_blanks()
        return bare.group()

    def _is_keyword(self, word: str) -> bool:
        end = self.at + len(word)
        is_alone = end >= len(self._text) or self._text[end].isspace() or self._text[end] in "()"
        return self._text[self.at : end].lower() == word and is_alone

    def _take_keyword(self, word: str) -> bool:
        if not self._is_keyword(word):
            return False
        self.at += len(word)
        self._skip_blanks()
        return True

    def _skip_blanks(self) -> None:
        blank = _BLANK.match(self._text, self.at)
        assert blank is not None
        self.at = blank.end()


def time_ms_of(text: str) -> int | None:
    """The time in ms since 1970 of an ISO 8601 text, in UTC when it names no zone; None for another text."""
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


def _is_in_value(name: str) -> bool:
    return name.startswith(("value.", "value["))


def _steps(path: str) -> tuple[str | int, ...]:
    return tuple(int(index) if index else member for member, index in _STEP.findall(path))


def _whole_number(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 19 else None
