"""A UUID as Kafka writes it, for ids of topics and of clusters: URL-safe base64 of its 16 bytes, without padding."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from uuid import UUID

__all__ = ["uuid_from_text", "uuid_text"]


def uuid_text(value: UUID) -> str:
    """The text, which has 22 characters."""
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")


def uuid_from_text(text: str) -> UUID:
    """The UUID. Raises ValueError unless ``text`` is 16 bytes in URL-safe base64."""
    if not text.isascii():
        raise ValueError("not base64")
    return UUID(bytes=urlsafe_b64decode(text + "=" * (-len(text) % 4)))
