"""The content of a store: a private key with its chain of certificates, and certificates that are trusted."""

from dataclasses import field

from ...base.frozen import frozen
from .certificates import read_certificate
from .der import DerError

__all__ = ["KeyPair", "Store", "StoreError"]


class StoreError(Exception):
    """A store cannot be read. One plain line, without passwords and keys; the caller adds the settings' names."""


@frozen
class KeyPair:
    """``key`` is in PEM, maybe encrypted by ``password``; ``chain`` is in DER and begins with the key's certificate."""

    key: bytes = field(repr=False)
    chain: tuple[bytes, ...] = field(repr=False)
    password: str | None = field(default=None, repr=False)


@frozen
class Store:
    """``keys`` in the order of the store: the first is used. ``trusted`` are certificates in DER."""

    keys: tuple[KeyPair, ...] = ()
    trusted: tuple[bytes, ...] = field(default=(), repr=False)

    def as_trust_store(self) -> tuple[bytes, ...]:
        """The certificates that Kafka trusts: trusted ones, and the first of each key's chain, but no other of it."""
        return tuple(dict.fromkeys((*self.trusted, *(pair.chain[0] for pair in self.keys))))


def check_certificates(certificates: tuple[bytes, ...]) -> None:
    """Raise StoreError if a value is no certificate."""
    for certificate in certificates:
        try:
            read_certificate(certificate)
        except DerError as error:
            raise StoreError(f"a certificate cannot be read: {error}") from None
