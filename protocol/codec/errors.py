"""What can go wrong between objects and bytes."""

from ..errors import UnsupportedVersionError


class DecodeError(ValueError):
    """The bytes are no such message. The only error a decoder raises; the text says which field and why."""


class EncodeError(ValueError):
    """The object cannot be written: a value out of range, null where null is not allowed, an unknown version."""


class FieldNotInVersionError(UnsupportedVersionError, EncodeError):
    """A field that this version lacks is set to something else than its default, and may not be dropped."""
