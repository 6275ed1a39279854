"""The types of quotas, and their values as the nodes of the metadata tree hold them."""

import re
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from math import isfinite, isinf, isnan, nan

__all__ = ["CLIENT_TYPES", "QuotaType", "decode_quotas", "encode_quota", "unreadable_quotas"]

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*|[+-]?(?:NaN|Infinity)", re.ASCII)
_EPSILON = 1e-6


class QuotaType(Enum):
    """Kafka's keys. ``bits`` of whole numbers; 0: the quota may be a fraction."""

    PRODUCE = ("producer_byte_rate", 64)
    FETCH = ("consumer_byte_rate", 64)
    REQUEST = ("request_percentage", 0)
    CONTROLLER_MUTATION = ("controller_mutation_rate", 0)
    CONNECTION = ("connection_creation_rate", 32)

    key: str
    bits: int

    def __init__(self, key: str, bits: int) -> None:
        self.key = key
        self.bits = bits


CLIENT_TYPES: tuple[QuotaType, ...] = tuple(each for each in QuotaType if each is not QuotaType.CONNECTION)
_BY_KEY = {each.key: each for each in QuotaType}


def decode_quotas(settings: Mapping[str, str]) -> dict[QuotaType, float]:
    """The quotas among the settings of a node. Values that are not numbers are left out (`unreadable_quotas`)."""
    numbers = {_BY_KEY[key]: _number(text) for key, text in settings.items() if key in _BY_KEY}
    return {quota_type: value for quota_type, value in numbers.items() if not isnan(value)}


def unreadable_quotas(settings: Mapping[str, str]) -> list[str]:
    """The keys of quotas whose values are not numbers."""
    return [key for key, text in settings.items() if key in _BY_KEY and isnan(_number(text))]


def encode_quota(quota_type: QuotaType, value: float) -> str | None:
    """The text for the node; None if the quota cannot have this value.

    Whole numbers may be off by a millionth, as in Kafka, because requests carry them as floating point numbers.
    """
    if not quota_type.bits:
        return None if isnan(value) else _java_text(value)
    if not isfinite(value):
        return None
    most = (1 << (quota_type.bits - 1)) - 1
    whole = min(int(value + _EPSILON), most)
    return str(whole) if whole >= 0 and abs(float(whole) - value) <= _EPSILON else None


def _number(text: str) -> float:
    return float(text) if _NUMBER.fullmatch(text) else nan


def _java_text(value: float) -> str:
    """``value`` as Java prints it (Double.toString)."""
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    _, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    tail = "".join(map(str, digits[1:]))
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{tail or '0'}E{len(tail) + int(exponent)}"
