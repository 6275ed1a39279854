"""The errors of encoding and decoding."""

from ..errors import UnsupportedVersionError


class DecodeError(ValueError):
    """The bytes are not such a message. The only error of a decoder; the text names the field and the reason."""


class EncodeError(ValueError):
    """The object cannot be encoded: a value out of range, null where null is not allowed, an unknown version."""


class FieldNotInVersionError(UnsupportedVersionError, EncodeError):
    """A field that the version lacks has a value other than its default, and must not be dropped."""
