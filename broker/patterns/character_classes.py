"""Reads the escapes of a pattern and its classes in brackets, such as ``[^a-z\\d[:punct:]]``."""

from .characters import LAST_CHARACTER, NAMED_SETS, PERL_SETS, between, both_cases, inverse, property_set
from .error import PatternError

__all__ = ["character_class", "class_escape", "escaped_character"]

_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL = frozenset("01234567")
_HEX = frozenset("0123456789abcdefABCDEF")


def character_class(text: str, at: int, ignore_case: bool) -> tuple[int, int]:
    """The set that stands behind ``[``, and the position behind its ``]``."""
    start = at - 1
    is_negated = text.startswith("^", at)
    at += is_negated
    found, first = 0, at
    while text[at : at + 1] != "]" or at == first:
        item = _named_set(text, at, ignore_case) or class_escape(text, at, ignore_case)
        if item is not None:
            more, at = item
            found |= more
            continue
        low, end = _class_character(text, at, start)
        high = low
        if text.startswith("-", end) and text[end + 1 : end + 2] != "]":
            high, end = _class_character(text, end + 1, start)
            if high < low:
                raise PatternError("the end of a range comes before its start", at)
        found |= between(low, high, ignore_case)
        at = end
    return inverse(found) if is_negated else found, at + 1


def _class_character(text: str, at: int, start: int) -> tuple[int, int]:
    if at >= len(text):
        raise PatternError("missing ']' of a class", start)
    return escaped_character(text, at) if text[at] == "\\" else (ord(text[at]), at + 1)


def _named_set(text: str, at: int, ignore_case: bool) -> tuple[int, int] | None:
    """A class such as ``[:alpha:]`` or ``[:^alpha:]``, and the position behind it."""
    end = text.find(":]", at + 2) if text.startswith("[:", at) else -1
    if end < 0:
        return None
    name = text[at + 2 : end]
    found = NAMED_SETS.get(name.removeprefix("^"))
    if found is None:
        raise PatternError("there is no class of this name", at)
    return _signed(found, name.startswith("^"), ignore_case), end + 2


def class_escape(text: str, at: int, ignore_case: bool) -> tuple[int, int] | None:
    """The set of an escape such as ``\\d`` or ``\\p{Greek}``, and the position behind it; None for other text."""
    kind = text[at + 1 : at + 2] if text.startswith("\\", at) else ""
    if kind and kind in "pP":
        return _property(text, at, ignore_case)
    perl = PERL_SETS.get(kind.lower()) if kind.isascii() else None
    return None if perl is None else (_signed(perl, kind.isupper(), ignore_case), at + 2)


def _property(text: str, at: int, ignore_case: bool) -> tuple[int, int]:
    name, end = text[at + 2 : at + 3], at + 3
    if name == "{":
        close = text.find("}", end)
        name, end = (text[end:close], close + 1) if close >= 0 else ("", end)
    found = property_set(name.removeprefix("^"))
    if found is None:
        raise PatternError("there is no property of this name", at)
    return _signed(found, (text[at + 1] == "P") != name.startswith("^"), ignore_case), end


def _signed(found: int, is_negated: bool, ignore_case: bool) -> int:
    if ignore_case:
        found = both_cases(found)
    return inverse(found) if is_negated else found


def escaped_character(text: str, at: int) -> tuple[int, int]:
    """The code point of an escape that stands for one character, and the position behind it."""
    kind = text[at + 1 : at + 2]
    end = at + 2
    if not kind:
        raise PatternError("a backslash ends the pattern", at)
    if kind in _CONTROLS:
        return ord(_CONTROLS[kind]), end
    if kind == "x":
        return _hexadecimal(text, at)
    if kind == "0" or (kind in _OCTAL and text[end : end + 1] in _OCTAL):
        while end < at + 4 and text[end : end + 1] in _OCTAL:
            end += 1
        return int(text[at + 1 : end], 8), end
    if kind.isascii() and not kind.isalnum():
        return ord(kind), end
    raise PatternError("RE2 has no such escape", at)


def _hexadecimal(text: str, at: int) -> tuple[int, int]:
    digits, end = text[at + 2 : at + 4], at + 4
    if digits.startswith("{"):
        close = text.find("}", at)
        digits, end = text[at + 3 : close] if close >= 0 else "", close + 1
    is_single = text[at + 2 : at + 3] != "{"
    if not digits or not _HEX.issuperset(digits) or (is_single and len(digits) < 2):
        raise PatternError("\\x needs two hexadecimal digits, or more in braces", at)
    code = int(digits, 16)
    if code > LAST_CHARACTER:
        raise PatternError("there is no such character", at)
    return code, end
