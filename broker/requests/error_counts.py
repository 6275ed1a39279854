"""Counts the error codes of responses, as Kafka's ErrorsPerSec: each code at the top and in lists, NONE too."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import Message
from ...protocol.codec.schema import Array, FieldSchema, Nested

__all__ = ["ErrorPlaces", "count_errors", "error_places"]

_CODE = "error_code"
_FEW = 8


class ErrorPlaces(NamedTuple):
    """Where a struct has error codes: one of its own, and in the elements of these lists."""

    has_code: bool
    lists: tuple[tuple[str, "ErrorPlaces"], ...]


_places_of: dict[type[Message], ErrorPlaces] = {}


def error_places(response_type: type[Message]) -> ErrorPlaces:
    """The places of error codes in responses of a type, in the versions of Kafka 3.9."""
    found = _places_of.get(response_type)
    if found is None:
        found = _places_of[response_type] = _places(response_type.SCHEMA.fields, _last_version(response_type))
    return found


def _last_version(response_type: type[Message]) -> int:
    key = response_type.MESSAGE.api_key
    spec = None if key is None else API_SPECS[ApiKey(key)]
    return response_type.MESSAGE.versions.last if spec is None or spec.advertised is None else spec.advertised.last


def _places(fields: Sequence[FieldSchema], last_version: int) -> ErrorPlaces:
    lists = [
        (field.name, _places(field.type.element.struct.SCHEMA.fields, last_version))
        for field in fields
        if isinstance(field.type, Array) and isinstance(field.type.element, Nested)
    ]
    found = tuple((name, places) for name, places in lists if places.has_code or places.lists)
    has_code = any(field.name == _CODE and field.versions.first <= last_version for field in fields)
    return ErrorPlaces(has_code, found)


def count_errors(places: ErrorPlaces, response: Any, counts: dict[int, int]) -> None:
    """Add the error codes of ``response`` to ``counts``."""
    if places.has_code:
        code = response.error_code
        counts[code] = counts.get(code, 0) + 1
    for name, inside in places.lists:
        elements = getattr(response, name)
        if not elements:
            continue
        if len(elements) > _FEW:
            _count_many(inside, elements, counts)
        else:
            for element in elements:
                count_errors(inside, element, counts)


def _count_many(places: ErrorPlaces, structs: Sequence[Any], counts: dict[int, int]) -> None:
    """``structs``: all of one place. A response may have ten thousand, and nearly all codes are NONE."""
    if places.has_code:
        codes = [each.error_code for each in structs]
        without = codes.count(0)
        if without:
            counts[0] = counts.get(0, 0) + without
        if without < len(codes):
            for code in codes:
                if code:
                    counts[code] = counts.get(code, 0) + 1
    for name, inside in places.lists:
        elements = [element for each in structs for element in getattr(each, name) or ()]
        if elements:
            _count_many(inside, elements, counts)
