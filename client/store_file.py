"""A key store or trust store of Java (JKS, PKCS12) that a client's options name, as PEM text."""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from ..base.frozen import frozen
from ..base.key_stores.pem import to_pem
from ..base.key_stores.reading import read_store
from ..base.key_stores.store import StoreError
from .given_options import OptionError


@frozen
class StoreFile:
    """`option`: the option that names the file, for errors. Errors show no password and no key."""

    option: str
    path: str
    kind: str
    password: str | None = field(repr=False)

    def certificates(self) -> str:
        """Returns the trusted certificates. Raises OptionError."""
        try:
            trusted = read_store(Path(self.path), self.kind, self.password, self.password).as_trust_store()
        except StoreError as error:
            raise OptionError(f"Option {self.option}: {error}") from None
        if not trusted:
            raise OptionError(f"Option {self.option}: there is no certificate in {self.path}")
        return _pem_of(trusted)

    def key_pair(self, key_password: str | None) -> str:
        """Returns the first key, decrypted, and its chain of certificates. Raises OptionError."""
        try:
            keys = read_store(Path(self.path), self.kind, self.password, key_password).keys
        except StoreError as error:
            raise OptionError(f"Option {self.option}: {error}") from None
        if not keys:
            raise OptionError(f"Option {self.option}: there is no private key in {self.path}")
        return keys[0].key.decode() + _pem_of(keys[0].chain)


@frozen
class JavaStores:
    """Java's stores of a client, as far as its options name some."""

    trust: StoreFile | None = None
    keys: StoreFile | None = None


def _pem_of(certificates: tuple[bytes, ...]) -> str:
    return "".join(to_pem("CERTIFICATE", each).decode() for each in certificates)
