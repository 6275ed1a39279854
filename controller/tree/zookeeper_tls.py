"""Builds Python's SSL context for ZooKeeper from Kafka's settings. Key stores are PEM files."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass

from ...config.config import Config
from ...config.config_error import ConfigError

__all__ = ["TlsSettings"]

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_PREFIX = "zookeeper.ssl."


@dataclass(frozen=True, slots=True)
class TlsSettings:
    """``key_store``: a PEM file with a private key and its certificates. ``trust_store``: a PEM file with certificates
    of authorities; None: those of the system."""

    key_store: str | None
    key_password: str | None
    trust_store: str | None
    checks_host_name: bool
    versions: tuple[str, ...]
    ciphers: tuple[str, ...]

    @classmethod
    def from_config(cls, config: Config) -> "TlsSettings | None":
        """None if ``zookeeper.ssl.client.enable`` is off. Raises ConfigError for a store of another format."""
        if not config.boolean("zookeeper.ssl.client.enable"):
            return None
        versions = config.optional_list("zookeeper.ssl.enabled.protocols")
        return cls(
            key_store=_pem(
                "zookeeper.ssl.keystore",
                config.optional_string("zookeeper.ssl.keystore.location"),
                config.optional_string("zookeeper.ssl.keystore.type"),
            ),
            key_password=config.optional_string("zookeeper.ssl.keystore.password"),
            trust_store=_pem(
                "zookeeper.ssl.truststore",
                config.optional_string("zookeeper.ssl.truststore.location"),
                config.optional_string("zookeeper.ssl.truststore.type"),
            ),
            checks_host_name=config.string("zookeeper.ssl.endpoint.identification.algorithm").upper() == "HTTPS",
            versions=tuple(map(_known, versions or (config.string("zookeeper.ssl.protocol"),))),
            ciphers=config.optional_list("zookeeper.ssl.cipher.suites") or (),
        )

    def context(self) -> ssl.SSLContext:
        """The context. Raises ConfigError when a file cannot be read or is not PEM."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.checks_host_name
        allowed = [_VERSIONS[version] for version in self.versions]
        context.minimum_version, context.maximum_version = min(allowed), max(allowed)
        if self.ciphers:
            _read("cipher.suites", lambda: context.set_ciphers(":".join(self.ciphers)))
        if self.trust_store is None:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        else:
            _read("truststore.location", lambda: context.load_verify_locations(self.trust_store))
        if self.key_store is not None:
            # Without a password OpenSSL would prompt on the terminal.
            password = self.key_password or ""
            _read("keystore.location", lambda: context.load_cert_chain(str(self.key_store), password=lambda: password))
        return context


def _pem(store: str, location: str | None, kind: str | None) -> str | None:
    if location is None:
        return None
    # Without a type, ZooKeeper's client uses the suffix of the file.
    is_pem = kind.upper() == "PEM" if kind is not None else location.lower().endswith(".pem")
    if not is_pem:
        raise ConfigError(
            f"{store}.location={location}: only stores in PEM are read here; convert it (keytool -importkeystore …"
            f" -deststoretype PKCS12, then openssl pkcs12 -in … -out store.pem) and set {store}.type=PEM"
        )
    return location


def _known(version: str) -> str:
    if version not in _VERSIONS:
        raise ConfigError(f"{_PREFIX}enabled.protocols={version}: must be one of {', '.join(_VERSIONS)}")
    return version


def _read(setting: str, load: Callable[[], object]) -> None:
    try:
        load()
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError(f"{_PREFIX}{setting}: {error}") from error
