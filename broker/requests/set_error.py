"""Putting an error into a response message, and into the structs within it."""

from collections.abc import Callable
from typing import Any, TypeVar

from ...protocol.codec import Struct
from ...protocol.errors import KafkaError

__all__ = ["ErrorShape", "failed", "set_error"]

ErrorShape = Callable[[int, Any, KafkaError], Any]
"""``(version, request, error) -> response message``"""

_CODES = ("error_code", "partition_error_code")

StructT = TypeVar("StructT", bound=Struct)


def set_error(struct: Struct, error: KafkaError, version: int | None = None) -> None:
    """Set the error's code and message where ``struct`` (in ``version``) has a field for it."""
    for field in struct.SCHEMA.fields:
        if version is not None and version not in field.versions:
            continue
        if field.name in _CODES:
            setattr(struct, field.name, error.code)
        elif field.name == "error_message":
            setattr(struct, field.name, error.message)


def failed(item: StructT, error: KafkaError) -> StructT:
    """``item`` with the error's code, and its message where it has a field for it."""
    set_error(item, error)
    return item
