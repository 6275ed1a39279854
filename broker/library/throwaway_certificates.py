"""Certificates for brokers that live as long as a test: an authority, and keys that are valid for this machine only.

Made by the library ``cryptography``, which is imported here alone.
"""

import os
from pathlib import Path
from typing import Any

from ...config.config_error import ConfigError

__all__ = ["ThrowawayCertificates", "check_library", "store_settings"]

_DAYS = 30


class ThrowawayCertificates:
    """Writes into ``directory``. ``ca_file`` is what clients must trust, in PEM. Raises ConfigError without library."""

    def __init__(self, directory: Path) -> None:
        self._x509, self._ec, self._serialization, self._sha256 = _library()
        self._directory = directory
        self._key = self._ec.generate_private_key(self._ec.SECP256R1())
        self._authority = self._signed("pybroker's throw-away authority", self._key, is_authority=True)
        self.ca_file = directory / "ca.pem"
        self.ca_file.write_bytes(self._pem(self._authority))

    def issue(self, name: str) -> Path:
        """A file with a new private key and its certificate, for localhost, 127.0.0.1 and ::1."""
        key = self._ec.generate_private_key(self._ec.SECP256R1())
        encoding, form = self._serialization.Encoding.PEM, self._serialization.PrivateFormat.PKCS8
        secret = key.private_bytes(encoding, form, self._serialization.NoEncryption())
        file = self._directory / f"{name}.pem"
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as store:
            store.write(secret + self._pem(self._signed(name, key, is_authority=False)))
        return file

    def _pem(self, certificate: Any) -> bytes:
        encoded: bytes = certificate.public_bytes(self._serialization.Encoding.PEM)
        return encoded

    def _signed(self, name: str, key: Any, *, is_authority: bool) -> Any:
        import datetime  # not needed without TLS, and this module is imported with every Broker

        x509, now = self._x509, datetime.datetime.now(datetime.UTC)
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        issuer = subject if is_authority else self._authority.subject
        usage = dict.fromkeys(_KEY_USAGES, False) | {"digital_signature": True, "key_cert_sign": is_authority}
        certificate = (
            x509.CertificateBuilder(issuer, subject, key.public_key(), x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if not is_authority:
            import ipaddress

            addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in ("127.0.0.1", "::1")]
            names = x509.SubjectAlternativeName([x509.DNSName("localhost"), *addresses])
            certificate = certificate.add_extension(names, critical=False)
        return certificate.sign(self._key, self._sha256())


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


def check_library() -> None:
    """Raises ConfigError when it is missing."""
    _library()


def _library() -> tuple[Any, Any, Any, Any]:
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.hashes import SHA256
    except ImportError:
        raise ConfigError("tls=True needs the library cryptography: pip install 'pybroker[security]'") from None
    return x509, ec, serialization, SHA256
