"""Reads JKS, the key store format of Java up to version 8.

Layout (big endian): magic, version, number of entries; each entry: kind, alias, time in ms, then for a key its
encrypted form (DER) and its chain, for a trusted certificate the certificate; at the end the SHA-1 of all that.
A certificate is its type and its bytes, with lengths in front.
"""

import hmac
from hashlib import sha1
from struct import Struct

from .der import OCTET_STRING, SEQUENCE, DerError, children, oid_text, only
from .pem import to_pem
from .store import KeyPair, Store, StoreError, check_certificates

__all__ = ["JKS_MAGIC", "read_jks"]

JKS_MAGIC = b"\xfe\xed\xfe\xed"
_SHORT = Struct(">H")
_INT = Struct(">i")
_KEY = 1
_TRUSTED_CERTIFICATE = 2
_DIGEST_BYTES = 20
_KEY_PROTECTION = "1.3.6.1.4.1.42.2.17.1.1"
_DIGEST_PHRASE = b"Mighty Aphrodite"
_MOST_ENTRIES = 10_000


def read_jks(data: bytes, password: str | None, key_password: str | None) -> Store:
    """All entries. Without a password the store's integrity is not checked, as in Java, and keys cannot be read.

    Raises:
        StoreError: a wrong password, or malformed bytes.
    """
    if password is not None:
        _check_digest(data, password)
    reader = _Reader(data[: len(data) - _DIGEST_BYTES])
    if reader.take(4) != JKS_MAGIC or reader.int32() != 2:
        raise StoreError("it is not a JKS store of version 2")
    keys: list[KeyPair] = []
    trusted: list[bytes] = []
    for _ in range(reader.count(_MOST_ENTRIES)):
        kind = reader.int32()
        reader.skip(reader.uint16())  # the alias
        reader.skip(8)  # the time of creation
        if kind == _KEY:
            encrypted = reader.sized()
            chain = tuple(reader.certificate() for _ in range(reader.count(100)))
            keys.append(_key_pair(encrypted, chain, key_password if key_password is not None else password))
        elif kind == _TRUSTED_CERTIFICATE:
            trusted.append(reader.certificate())
        else:
            raise StoreError(f"it has an entry of the unknown kind {kind}")
    check_certificates((*trusted, *(certificate for pair in keys for certificate in pair.chain)))
    return Store(tuple(keys), tuple(trusted))


def _check_digest(data: bytes, password: str) -> None:
    digest = sha1(_utf16(password) + _DIGEST_PHRASE + data[:-_DIGEST_BYTES], usedforsecurity=False).digest()
    if not hmac.compare_digest(digest, data[-_DIGEST_BYTES:]):
        raise StoreError("the password is wrong, or the file was changed")


def _key_pair(encrypted: bytes, chain: tuple[bytes, ...], password: str | None) -> KeyPair:
    if password is None:
        raise StoreError("it has a key, and no password is set")
    if not chain:
        raise StoreError("a key has no certificate")
    try:
        algorithm, content = children(only(encrypted, SEQUENCE).content)
        kind = oid_text(next(children(algorithm.content)).content)
    except (DerError, ValueError, StopIteration):
        raise StoreError("a key is malformed") from None
    if kind != _KEY_PROTECTION or content.tag != OCTET_STRING:
        raise StoreError(f"a key is encrypted by the unknown algorithm {kind}")
    return KeyPair(to_pem("PRIVATE KEY", _decrypt(content.content, password)), chain)


def _decrypt(protected: bytes, password: str) -> bytes:
    """Java's own cipher for keys: a stream of SHA-1 digests, each over the password and the digest before."""
    secret = _utf16(password)
    stream, encrypted, check = (
        protected[:_DIGEST_BYTES],
        protected[_DIGEST_BYTES:-_DIGEST_BYTES],
        protected[-_DIGEST_BYTES:],
    )
    if len(protected) < 2 * _DIGEST_BYTES:
        raise StoreError("a key is too short")
    plain = bytearray()
    for start in range(0, len(encrypted), _DIGEST_BYTES):
        stream = sha1(secret + stream, usedforsecurity=False).digest()
        plain += bytes(a ^ b for a, b in zip(encrypted[start : start + _DIGEST_BYTES], stream, strict=False))
    if not hmac.compare_digest(sha1(secret + plain, usedforsecurity=False).digest(), check):
        raise StoreError("the password of the key is wrong (ssl.key.password)")
    return bytes(plain)


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")


class _Reader:
    """Reads values one after the other; raises StoreError where the bytes end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._position:
            raise StoreError("the file ends too early, or was changed")
        self._position += size
        return self._data[self._position - size : self._position]

    def skip(self, size: int) -> None:
        self.take(size)

    def uint16(self) -> int:
        return int(_SHORT.unpack(self.take(2))[0])

    def int32(self) -> int:
        return int(_INT.unpack(self.take(4))[0])

    def count(self, most: int) -> int:
        count = self.int32()
        if not 0 <= count <= most:
            raise StoreError(f"it says that {count} values follow")
        return count

    def sized(self) -> bytes:
        return self.take(self.int32())

    def certificate(self) -> bytes:
        kind = self.take(self.uint16())
        if kind != b"X.509":
            raise StoreError("it has a certificate that is not X.509")
        return self.sized()
