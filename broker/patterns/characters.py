"""Sets of characters, as bit masks: bit *n* stands for the ASCII character *n*.

**Why** The names that are matched are ASCII. So other characters stand in patterns in vain, and a set of 128 bits is
enough. RE2's tables of Unicode shrink to the names of its properties and to two letters that fold into ASCII.
"""

import unicodedata
from functools import cache

from .scripts import SCRIPTS

__all__ = ["ALL", "LAST_CHARACTER", "NAMED_SETS", "PERL_SETS", "between", "both_cases", "inverse", "property_set"]

ALL = (1 << 128) - 1
LAST_CHARACTER = 0x10FFFF
_UPPER = ((1 << 26) - 1) << ord("A")
_LOWER = _UPPER << 32
# The long s and the sign of the unit kelvin: the only characters outside ASCII that equal ASCII letters in lower case.
_ASCII_FORMS = {0x17F: 1 << ord("s"), 0x212A: 1 << ord("k")}


def between(first: int, last: int, ignore_case: bool = False) -> int:
    """The characters from ``first`` to ``last``, two code points."""
    end = min(last, 127) + 1
    found = (1 << end) - (1 << first) if first < end else 0
    if not ignore_case:
        return found
    for code, form in _ASCII_FORMS.items():
        if first <= code <= last:
            found |= form
    return both_cases(found)


def both_cases(characters: int) -> int:
    """With each letter also in the other case."""
    return characters | (characters & _UPPER) << 32 | (characters & _LOWER) >> 32


def inverse(characters: int) -> int:
    return ALL & ~characters


def _of(text: str, *ranges: str) -> int:
    found = 0
    for each in (*text, *ranges):
        found |= between(ord(each[0]), ord(each[-1]))
    return found


PERL_SETS = {"d": _of("", "09"), "s": _of("\t\n\f\r "), "w": _of("_", "09", "AZ", "az")}
"""The characters that ``\\d``, ``\\s`` and ``\\w`` match."""

NAMED_SETS = {
    "alnum": _of("", "09", "AZ", "az"),
    "alpha": _of("", "AZ", "az"),
    "ascii": ALL,
    "blank": _of("\t "),
    "cntrl": _of("\x7f", "\x00\x1f"),
    "digit": _of("", "09"),
    "graph": _of("", "!~"),
    "lower": _LOWER,
    "print": _of("", " ~"),
    "punct": _of("", "!/", ":@", "[`", "{~"),
    "space": _of("\t\n\v\f\r "),
    "upper": _UPPER,
    "word": _of("_", "09", "AZ", "az"),
    "xdigit": _of("", "09", "AF", "af"),
}
"""The classes that POSIX names, as in ``[[:alpha:]]``."""

_CATEGORIES = "C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"


@cache
def _properties() -> dict[str, int]:
    found = dict.fromkeys((*_CATEGORIES.split(), *SCRIPTS), 0)
    for code in range(128):
        category = unicodedata.category(chr(code))
        found[category] |= 1 << code
        found[category[0]] |= 1 << code
    found["Any"] = ALL
    found["Latin"] = found["L"]
    found["Common"] = inverse(found["L"])
    return found


def property_set(name: str) -> int | None:
    """The characters with a property of Unicode, a general category or a script; None when RE2 knows no such name."""
    return _properties().get(name)
