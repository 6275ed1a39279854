"""PEM stores (KIP-651): a private key in PKCS#8 and certificates, as text or in one file."""

import base64
import binascii
import re

from .store import KeyPair, Store, StoreError, check_certificates

__all__ = ["pem_certificates", "pem_key_pair", "read_pem"]

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s*([A-Za-z0-9+/=\s]*?)-----END ([A-Z0-9 ]+)-----")
_PLAIN_KEY = "PRIVATE KEY"
_ENCRYPTED_KEY = "ENCRYPTED PRIVATE KEY"
_LINE_LENGTH = 64


def read_pem(text: str, key_password: str | None = None) -> Store:
    """The content of a file: the certificates are the key's chain if there is a key, else they are trusted.

    Raises:
        StoreError: there is neither, or a block is malformed.
    """
    if any(_is_key(label) for label, _ in _blocks(text)):
        return Store(keys=(pem_key_pair(text, text, key_password),))
    return Store(trusted=pem_certificates(text))


def pem_certificates(text: str) -> tuple[bytes, ...]:
    """All certificates in ``text``, in DER. Raises StoreError if there is none."""
    certificates = tuple(content for label, content in _blocks(text) if label == "CERTIFICATE")
    if not certificates:
        raise StoreError("there is no certificate in it (-----BEGIN CERTIFICATE-----)")
    check_certificates(certificates)
    return certificates


def pem_key_pair(key_text: str, chain_text: str, password: str | None) -> KeyPair:
    """The first private key in ``key_text`` with the certificates in ``chain_text``.

    Raises:
        StoreError: one is missing or malformed, the key is not in PKCS#8, or an encrypted key has no password.
    """
    keys = [(label, content) for label, content in _blocks(key_text) if _is_key(label)]
    if not keys:
        raise StoreError("there is no private key in it (-----BEGIN PRIVATE KEY-----)")
    label, content = keys[0]
    if label not in (_PLAIN_KEY, _ENCRYPTED_KEY):
        raise StoreError(f"there is a {label}; Kafka reads PKCS#8 only: convert it by openssl pkcs8 -topk8 -nocrypt")
    if label == _ENCRYPTED_KEY and not password:
        raise StoreError("the key is encrypted, and ssl.key.password is not set")
    return KeyPair(to_pem(label, content), pem_certificates(chain_text), password if label == _ENCRYPTED_KEY else None)


def to_pem(label: str, content: bytes) -> bytes:
    """One block of PEM."""
    encoded = base64.b64encode(content).decode("ascii")
    lines = [encoded[start : start + _LINE_LENGTH] for start in range(0, len(encoded), _LINE_LENGTH)]
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""]).encode("ascii")


def _is_key(label: str) -> bool:
    return label.endswith(_PLAIN_KEY)


def _blocks(text: str) -> list[tuple[str, bytes]]:
    found = list(_BLOCK.finditer(text))
    if len(found) != text.count("-----BEGIN "):
        raise StoreError("a PEM block has no end, or signs that do not belong there")
    return [(block[1], _decode(block)) for block in found]


def _decode(block: re.Match[str]) -> bytes:
    if block[1] != block[3]:
        raise StoreError(f"a PEM block begins with {block[1]} and ends with {block[3]}")
    try:
        return base64.b64decode("".join(block[2].split()), validate=True)
    except binascii.Error:
        raise StoreError(f"the {block[1]} is not base64") from None
