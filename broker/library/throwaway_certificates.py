"""Certificates to try TLS with: an authority, and keys that are valid for this machine and the hosts that are named.

Made by the library ``cryptography``, which is imported here alone. The authority's key is never written.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...config.config_error import ConfigError

if TYPE_CHECKING:
    import ssl

__all__ = ["ThrowawayCertificates", "check_library", "store_settings"]

_DAYS = 60
_LOCAL = ("localhost", "127.0.0.1", "::1")


class ThrowawayCertificates:
    """Writes into ``directory``. ``ca_file`` is what clients must trust, in PEM. Raises ConfigError without library."""

    def __init__(self, directory: Path, days: int = _DAYS) -> None:
        self._x509, self._ec, self._serialization, self._sha256 = _library()
        self._directory = directory
        self._days = days
        self._key = self._ec.generate_private_key(self._ec.SECP256R1())
        self._authority = self._signed("pybroker's throw-away authority", self._key)
        self.ca_file = directory / "ca.pem"
        self.ca_file.write_bytes(self._pem(self._authority))

    def issue(self, name: str, hosts: Iterable[str] = ()) -> Path:
        """A file with a new private key and its certificate, for ``hosts``, localhost, 127.0.0.1 and ::1.

        Raises ValueError for a name or a host that no certificate can have.
        """
        key = self._ec.generate_private_key(self._ec.SECP256R1())
        certificate = self._pem(self._signed(name, key, dict.fromkeys([*hosts, *_LOCAL])))
        encoding, form = self._serialization.Encoding.PEM, self._serialization.PrivateFormat.PKCS8
        secret = key.private_bytes(encoding, form, self._serialization.NoEncryption())
        file = self._directory / f"{name}.pem"
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as store:
            store.write(secret + certificate)
        return file

    def server_context(self, name: str) -> "ssl.SSLContext":
        """For a server of this machine, with a certificate made for it."""
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.issue(name))
        return context

    def client_context(self) -> "ssl.SSLContext":
        """For a client that trusts the authority."""
        import ssl

        return ssl.create_default_context(cafile=self.ca_file)

    def _pem(self, certificate: Any) -> bytes:
        encoded: bytes = certificate.public_bytes(self._serialization.Encoding.PEM)
        return encoded

    def _signed(self, name: str, key: Any, hosts: Iterable[str] | None = None) -> Any:
        """Without ``hosts``: the certificate of the authority itself."""
        import datetime  # not needed without TLS, and this module is imported with every Broker

        x509, now = self._x509, datetime.datetime.now(datetime.UTC)
        is_authority = hosts is None
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        issuer = subject if is_authority else self._authority.subject
        usage = dict.fromkeys(_KEY_USAGES, False) | {"digital_signature": True, "key_cert_sign": is_authority}
        certificate = (
            x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=self._days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if hosts is not None:
            names = x509.SubjectAlternativeName([self._alternative_name(host) for host in hosts])
            certificate = certificate.add_extension(names, critical=False)
        return certificate.sign(self._key, self._sha256())

    def _alternative_name(self, host: str) -> Any:
        import ipaddress

        try:
            return self._x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            return self._x509.DNSName(host)


_KEY_USAGES = ("digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
               "key_cert_sign", "crl_sign", "encipher_only", "decipher_only")  # fmt: skip


def store_settings(key_file: Path, ca_file: Path) -> dict[str, str]:
    """The settings of a broker with these files."""
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(key_file),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(ca_file),
    }


def check_library(needed_by: str = "tls=True") -> None:
    """Raises ConfigError when it is missing."""
    _library(needed_by)


def _library(needed_by: str = "tls=True") -> tuple[Any, Any, Any, Any]:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.hashes import SHA256
    except ImportError:
        raise ConfigError(f"{needed_by} needs the library cryptography: pip install 'pybroker[security]'") from None
    return x509, ec, serialization, SHA256
