"""Label text of a sample, escaped as Prometheus' text format wants it."""

from hashlib import blake2b

__all__ = ["LONGEST_VALUE", "labels"]

LONGEST_VALUE = 249
"""Characters of a label's value: Kafka's longest topic name. A longer value ends in a hash, so that it stays unique."""

_HASH_BYTES = 8
# Prometheus' parser stops at a NUL.
_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"', "\0": "\ufffd"})


def labels(**values: str | int) -> str:
    """The text ``{topic="a",partition="3"}`` for ``labels(topic="a", partition=3)``; an empty string without labels."""
    if not values:
        return ""
    return "{" + ",".join([f'{name}="{_escaped(value)}"' for name, value in values.items()]) + "}"


def _escaped(value: str | int) -> str:
    if isinstance(value, int):
        return str(value)
    if len(value) > LONGEST_VALUE:
        digest = blake2b(value.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
        value = f"{value[: LONGEST_VALUE - len(digest) - 1]}~{digest}"
    if not value.isascii():
        value = value.encode("utf-8", "replace").decode()  # a lone surrogate has no UTF-8
    return value.translate(_ESCAPES)
