"""Reads a store in a file. Its format is known by the first bytes, because files named JKS often are PKCS12.

Java's reader of JKS does the same, and Java's keytool has written PKCS12 into new stores since version 9.
"""

from pathlib import Path

from .jks import JKS_MAGIC, read_jks
from .pem import pem_certificates, read_pem
from .pkcs12 import read_pkcs12
from .store import Store, StoreError

__all__ = ["MOST_BYTES", "read_pem_certificates", "read_store", "refuse_pem"]

MOST_BYTES = 16 * 1024 * 1024
"""A larger file is refused; Java's store of all public authorities has 200 KiB."""
_JCEKS_MAGIC = b"\xce\xce\xce\xce"
_BINARY_TYPES = ("JKS", "PKCS12")
_PEM_MARK = b"-----BEGIN "


def read_store(path: Path, store_type: str, password: str | None, key_password: str | None) -> Store:
    """The store in the file. ``store_type`` is the value of ``ssl.keystore.type`` or ``ssl.truststore.type``.

    Raises:
        StoreError: with the file's name.
    """
    try:
        data = _read(path)
        if store_type == "PEM":
            return read_pem(_text_of(data), key_password)
        if store_type not in _BINARY_TYPES:
            raise StoreError(f"stores of the type {store_type} are not supported; use PEM, PKCS12 or JKS")
        return _read_binary(data, password, key_password)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from None


def read_pem_certificates(path: Path) -> tuple[bytes, ...]:
    """All certificates in a file, in DER, also if there is a key in it. Raises StoreError with the file's name."""
    try:
        return pem_certificates(_text_of(_read(path)))
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from None


def refuse_pem(path: Path) -> None:
    """Raises StoreError, with the file's name, for a file in PEM and for one that cannot be read."""
    try:
        _refuse_pem(_read(path))
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from None


def _refuse_pem(data: bytes) -> None:
    if _PEM_MARK in data:
        raise StoreError("it is PEM; the store's type must be set to PEM")


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise StoreError("it is not a file")  # the broker would wait for the other end of a pipe
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise StoreError(f"the file cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise StoreError(f"the file has more than {MOST_BYTES} bytes")
    return data


def _text_of(data: bytes) -> str:
    if data.startswith((JKS_MAGIC, _JCEKS_MAGIC, b"\x30")):
        raise StoreError("it is not PEM; the store's type must be set to PKCS12 or JKS")
    return data.decode("latin-1")


def _read_binary(data: bytes, password: str | None, key_password: str | None) -> Store:
    if data.startswith(JKS_MAGIC):
        return read_jks(data, password, key_password)
    if data.startswith(_JCEKS_MAGIC):
        raise StoreError("it is a JCEKS store, which is not supported: convert it by keytool -importkeystore to PKCS12")
    if data.startswith(b"\x30"):
        return read_pkcs12(data, password)
    _refuse_pem(data)
    raise StoreError("it is neither JKS nor PKCS12")
