"""Answers that give an error for each item of a request: which lists belong together, and what names an item."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...protocol.codec import Struct
from ...protocol.codec.schema import Array, Nested
from ...protocol.errors import KafkaError

__all__ = ["EachItem", "fail_each", "set_error"]

_CODES = ("error_code", "partition_error_code")


class EachItem(NamedTuple):
    """For each item of the request's list ``asked`` the answer has one in its list ``answered``.

    ``named`` gives the answer's field that says which item it is, and the request's: "name", "partition>index" where
    they differ, ">index" when the request lists plain values. ``told`` is set besides. The error is in the item, or in
    the items ``within`` it.
    """

    asked: str
    answered: str
    named: tuple[str, ...] = ()
    within: "EachItem | None" = None
    told: Mapping[str, Any] = {}


def fail_each(answer: Struct, rule: EachItem, request: Any, error: KafkaError) -> None:
    """Fill the list ``rule.answered`` of ``answer``."""
    item_type = _item_type(answer, rule.answered)
    items = getattr(answer, rule.answered)
    for asked in getattr(request, rule.asked) or ():
        item = item_type(**dict(_names(rule, asked)), **rule.told)
        if rule.within is None:
            set_error(item, error)
        else:
            fail_each(item, rule.within, asked, error)
        items.append(item)


def set_error(struct: Struct, error: KafkaError, version: int | None = None) -> None:
    """Set the error's code and message where the struct (in ``version``) has a field for it."""
    for field in struct.SCHEMA.fields:
        if version is not None and version not in field.versions:
            continue
        if field.name in _CODES:
            setattr(struct, field.name, error.code)
        elif field.name == "error_message":
            setattr(struct, field.name, error.message)


def _names(rule: EachItem, asked: Any) -> Iterator[tuple[str, Any]]:
    for name in rule.named:
        source, arrow, target = name.partition(">")
        yield (target if arrow else source), (getattr(asked, source) if source else asked)


def _item_type(answer: Struct, name: str) -> type[Struct]:
    for field in answer.SCHEMA.fields:
        if field.name == name and isinstance(field.type, Array) and isinstance(field.type.element, Nested):
            return field.type.element.struct
    raise ValueError(f"{type(answer).__name__} has no list of structs {name}")
