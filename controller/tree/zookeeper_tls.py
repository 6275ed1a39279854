"""Builds Python's SSL context for ZooKeeper from Kafka's settings. Key stores are PEM files."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import field

from ...base.frozen import frozen
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
_SHOWN = ("cipher.suites", "keystore.location", "truststore.location")


@frozen
class TlsSettings:
    """``key_store``: a PEM file with a private key and its certificates. ``trust_store``: a PEM file with certificates
    of authorities; None: those of the system."""

    key_store: str | None
    key_password: str | None
    trust_store: str | None
    checks_host_name: bool
    versions: tuple[str, ...]
    ciphers: tuple[str, ...]
    shown: Mapping[str, str] = field(default_factory=dict)
    """Settings by the part of their name behind ``zookeeper.ssl.``: name, value and place, for errors."""

    @classmethod
    def from_config(cls, config: Config) -> "TlsSettings | None":
        """None if ``zookeeper.ssl.client.enable`` is off. Raises ConfigError for a store of another format."""
        if not config.boolean("zookeeper.ssl.client.enable"):
            return None
        return cls(
            key_store=_pem(config, "zookeeper.ssl.keystore"),
            key_password=config.optional_string("zookeeper.ssl.keystore.password"),
            trust_store=_pem(config, "zookeeper.ssl.truststore"),
            checks_host_name=config.string("zookeeper.ssl.endpoint.identification.algorithm").upper() == "HTTPS",
            versions=_known(config),
            ciphers=config.optional_list("zookeeper.ssl.cipher.suites") or (),
            shown={name: config.shown(f"{_PREFIX}{name}") for name in _SHOWN},
        )

    def context(self) -> ssl.SSLContext:
        """The context. Raises ConfigError when a file cannot be read or is not PEM, or no cipher suite is known."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.checks_host_name
        allowed = [_VERSIONS[version] for version in self.versions]
        context.minimum_version, context.maximum_version = min(allowed), max(allowed)
        if self.ciphers:
            self._load("cipher.suites", lambda: context.set_ciphers(":".join(self.ciphers)), "name one of OpenSSL's")
        if self.trust_store is None:
            context.load_default_certs(ssl.Purpose.SERVER_AUTH)
        else:
            what = "name a PEM file with certificates of authorities"
            self._load("truststore.location", lambda: context.load_verify_locations(self.trust_store), what)
        if self.key_store is not None:
            # Without a password OpenSSL would prompt on the terminal.
            password = self.key_password or ""
            what = f"name a PEM file with a private key and its certificates, and check {_PREFIX}keystore.password"
            self._load(
                "keystore.location",
                lambda: context.load_cert_chain(str(self.key_store), password=lambda: password),
                what,
            )
        return context

    def _load(self, setting: str, load: Callable[[], object], way_out: str) -> None:
        try:
            load()
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise ConfigError(f"{self.shown.get(setting, _PREFIX + setting)}: {error}; {way_out}") from error


def _pem(config: Config, store: str) -> str | None:
    location, kind = config.optional_string(f"{store}.location"), config.optional_string(f"{store}.type")
    if location is None:
        return None
    # Without a type, ZooKeeper's client uses the suffix of the file.
    is_pem = kind.upper() == "PEM" if kind is not None else location.lower().endswith(".pem")
    if not is_pem:
        shown = config.shown(f"{store}.location")
        raise ConfigError(
            f"{shown}: only stores in PEM are read here; convert it (keytool -importkeystore …"
            f" -deststoretype PKCS12, then openssl pkcs12 -in … -out store.pem) and set {store}.type=PEM"
        )
    return location


def _known(config: Config) -> tuple[str, ...]:
    """The versions of TLS that are set. Raises ConfigError for an unknown one."""
    versions = config.optional_list(f"{_PREFIX}enabled.protocols")
    name = f"{_PREFIX}enabled.protocols" if versions else f"{_PREFIX}protocol"
    versions = versions or (config.string(name),)
    if not set(versions) <= set(_VERSIONS):
        raise ConfigError(f"{config.shown(name)}: must be of {', '.join(_VERSIONS)}")
    return tuple(versions)
