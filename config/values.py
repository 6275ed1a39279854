"""Converts values of settings from text and to text.

The types and their syntax are Kafka's (``ConfigDef.Type``): surrounding blanks are dropped, integers have 16, 32 or 64
bits, a list is split at commas, a boolean is ``true`` or ``false`` in any case. A ``class`` is kept as text, because
there is no Java to load it.
"""

import math
import re
from enum import Enum

Value = bool | int | float | str | tuple[str, ...]

# Java's String.trim removes every character up to the space; str.strip() without an argument removes more.
_BLANKS = "".join(map(chr, range(33)))
# Java accepts every decimal digit of Unicode that is one UTF-16 unit.
_INTEGER = re.compile(r"[+-]?(?:(?![\U00010000-\U0010ffff])\d)+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dDfF]?|[+-]?Infinity")
_COMMA = re.compile(r"\s*,\s*")


class ValueType(Enum):
    """Kafka's types of settings, by the names it prints."""

    BOOLEAN = "boolean"
    STRING = "string"
    INT = "int"
    SHORT = "short"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"
    CLASS = "class"
    PASSWORD = "password"


BOOLEAN = ValueType.BOOLEAN
STRING = ValueType.STRING
INT = ValueType.INT
SHORT = ValueType.SHORT
LONG = ValueType.LONG
DOUBLE = ValueType.DOUBLE
LIST = ValueType.LIST
CLASS = ValueType.CLASS
PASSWORD = ValueType.PASSWORD

_BITS = {ValueType.SHORT: 16, ValueType.INT: 32, ValueType.LONG: 64}


class BadValueError(ValueError):
    """A text that is no value of the type, or a value that is not allowed; the message says what is allowed."""


def trim(text: str) -> str:
    """Remove the blanks around a value that Kafka removes."""
    return text.strip(_BLANKS)


def parse_value(value_type: ValueType, text: str) -> Value:
    """Convert a text to a value of the type. Raises BadValueError, which says what is allowed."""
    trimmed = trim(text)
    match value_type:
        case ValueType.STRING | ValueType.PASSWORD:
            return trimmed
        case ValueType.CLASS:
            return _class(trimmed)
        case ValueType.BOOLEAN:
            return _boolean(trimmed)
        case ValueType.LIST:
            return split_list(trimmed)
        case ValueType.DOUBLE:
            return _double(trimmed)
        case _:
            return _integer(trimmed, _BITS[value_type])


def split_list(text: str) -> tuple[str, ...]:
    """Split at commas as Kafka does: blanks around commas are dropped, empty elements stay, "" is an empty list."""
    trimmed = trim(text)
    return tuple(_COMMA.split(trimmed)) if trimmed else ()


def format_value(value: Value | None) -> str | None:
    """The text of a value as DescribeConfigs shows it; None stays None (Kafka's null)."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return format_double(value)
    return str(value)


def format_double(value: float) -> str:
    """Java's text of a double: ``0.5``, ``1.0E10``, ``1.7976931348623157E308``."""
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(whole) - 1 - (len(whole + fraction) - len(digits))
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:].rstrip('0') or '0'}E{power}"


def _boolean(text: str) -> bool:
    match text.lower():
        case "true":
            return True
        case "false":
            return False
    raise BadValueError("must be true or false")


def _class(text: str) -> str:
    if not text:
        raise BadValueError("must be the name of a class")
    return text


def _integer(text: str, bits: int) -> int:
    limit = 1 << (bits - 1)
    # Check the length first: int() of millions of digits is slow, and Python refuses more than 4,300.
    if _INTEGER.fullmatch(text) and len(text) <= 4000:
        value = int(text)
        if -limit <= value < limit:
            return value
    raise BadValueError(f"must be a whole number from {-limit} to {limit - 1}")


def _double(text: str) -> float:
    if not _DECIMAL.fullmatch(text):
        raise BadValueError("must be a number")
    return float(text.rstrip("dDfF")) if not text.endswith("Infinity") else float(text)
