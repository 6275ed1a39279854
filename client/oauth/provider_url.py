"""Checks URLs of an identity provider, and reads files that stand in for one.

**Limits.** The URL comes from the broker's settings alone (CVE-2025-27817).
"""

import os
from collections.abc import Collection
from urllib.parse import unquote, urlsplit

__all__ = ["UrlError", "check_url", "is_file_url", "read_file_url"]


class UrlError(Exception):
    """A URL cannot be used, or its file cannot be read. The message is one line for the log."""


def check_url(url: str, what: str, *, schemes: Collection[str], allowed: Collection[str] = ()) -> None:
    """``allowed``: the URLs of ``org.apache.kafka.sasl.oauthbearer.allowed.urls``; empty: all. Raises UrlError."""
    try:
        parts = urlsplit(url)
        has_place = parts.path if parts.scheme == "file" else parts.hostname and parts.port != 0
    except ValueError:
        raise UrlError(f"the URL of {what} is malformed") from None
    if parts.username is not None or parts.password is not None:
        raise UrlError(f"the URL of {what} must not contain a user or a password")
    if parts.scheme == "http" and "http" not in schemes:
        raise UrlError(f"{url}: plain HTTP lets anybody on the way change {what}; use https or file")
    if parts.scheme not in schemes or not has_place:
        raise UrlError(f"{url}: the URL must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
        raise UrlError(f"{url}: a file URL must not name a host; write file:///path")
    if allowed and url not in allowed:
        raise UrlError(f"{url}: the URL is not among the allowed ones")


def is_file_url(url: str) -> bool:
    return urlsplit(url).scheme == "file"


def read_file_url(url: str, what: str, most_bytes: int) -> bytes:
    """The content of a file. Raises UrlError."""
    path = unquote(urlsplit(url).path)
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # reading from a pipe could hang
            raise UrlError(f"{url}: this is no file")
        with open(path, "rb") as file:
            content = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        raise UrlError(f"{url}: {error}") from None
    if len(content) > most_bytes:
        raise UrlError(f"{url}: {what} has more than {most_bytes} bytes")
    return content
