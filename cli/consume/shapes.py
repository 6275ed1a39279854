"""Shapes of the JSON that ``pybroker consume`` prints and ``pybroker produce`` reads."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = ["ConsumedHeader", "ConsumedRecord"]

_BASE64 = "in base64, in place of the field without _base64: the bytes are not UTF-8"


@frozen(kw_only=True)
class ConsumedHeader:
    """A header of a record."""

    name: str = ""
    name_base64: Annotated[str, _BASE64] = ""
    value: Annotated[str | None, "null: a header without a value"] = None
    value_base64: Annotated[str, _BASE64] = ""


@frozen(kw_only=True)
class ConsumedRecord:
    """A record of a topic."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: Annotated[int | None, "milliseconds since 1970; null: none"]
    key: Annotated[str | None, "null: a record without a key"] = None
    key_base64: Annotated[str, _BASE64] = ""
    value: Annotated[str | None, "null: a tombstone"] = None
    value_base64: Annotated[str, _BASE64] = ""
    headers: tuple[ConsumedHeader, ...]
