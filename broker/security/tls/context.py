"""Makes an `ssl.SSLContext` of a listener's settings, as Kafka's ``DefaultSslEngineFactory`` does for Java.

``values`` are the settings of one listener: those with its prefix, and where there is none, the plain ones.
"""

import os
import ssl
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

from ....base.key_stores.pem import to_pem
from ....base.key_stores.store import KeyPair
from ....config.config_error import ConfigError
from ....config.typed_values import TypedValues
from .cipher_suites import choose_suites
from .configured_stores import configured_keys, configured_trust
from .protocols import choose_versions

__all__ = ["Material", "client_context", "read_material", "server_context"]

_JAVA_ONLY = {
    "ssl.engine.factory.class": None,
    "ssl.keymanager.algorithm": "SunX509",
    "ssl.provider": None,
    "ssl.secure.random.implementation": None,
    "ssl.trustmanager.algorithm": "PKIX",
}
"""Settings of Java's TLS, with the only value that means something here."""
_PROTOCOLS = ("TLS", "TLSv1.2", "TLSv1.3")
_VERIFY_MODES = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class Material:
    """Keys and trusted certificates of one listener, as they are in its stores now."""

    __slots__ = ("keys", "trusted")

    def __init__(self, keys: tuple[KeyPair, ...], trusted: tuple[bytes, ...] | None) -> None:
        self.keys = keys
        self.trusted = trusted


def read_material(values: TypedValues) -> Material:
    """Read both stores. Raises ConfigError with one line that names the setting, and the file if there is one."""
    return Material(configured_keys(values), configured_trust(values))


def server_context(values: TypedValues, material: Material) -> ssl.SSLContext:
    """The context of a listener.

    Raises:
        ConfigError: the settings contradict each other, or ask for what cannot be had.
    """
    if not material.keys:
        raise ConfigError("ssl.keystore.location is not set: a listener with TLS needs a private key")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    client_auth = values.string("ssl.client.auth")
    if client_auth != "none":
        if material.trusted is None:
            # Kafka would trust all public authorities, that is, everybody who has any certificate.
            raise ConfigError(f"ssl.client.auth={client_auth}: ssl.truststore.location is not set")
        # A resumed session skips the check of the certificate. TLS 1.3 resumes only by tickets. TLS 1.2 would resume
        # by its number as well, which Python cannot prevent, and the certificate of the first handshake is kept.
        context.num_tickets = 0
    context.verify_mode = _VERIFY_MODES[client_auth]
    _configure(context, values, material)
    return context


def client_context(values: TypedValues, material: Material, *, trusts_system: bool = False) -> ssl.SSLContext:
    """The context of links to other brokers, with the same settings.

    ``trusts_system``: without a trust store the system's authorities are trusted; else a trust store is needed.

    Raises:
        ConfigError: as `server_context`, and without a trust store that is needed.
    """
    if material.trusted is None and not trusts_system:
        raise ConfigError("ssl.truststore.location is not set: other brokers' certificates could not be checked")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    algorithm = values.optional_string("ssl.endpoint.identification.algorithm") or ""
    if algorithm.lower() not in ("https", ""):
        raise ConfigError(f"ssl.endpoint.identification.algorithm={algorithm}: must be https or empty")
    context.check_hostname = bool(algorithm)
    _configure(context, values, material)
    if material.trusted is None:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    return context


def _check_java_settings(values: TypedValues) -> None:
    for name, only_value in _JAVA_ONLY.items():
        if values.value(name) not in (only_value, None, ""):
            raise ConfigError(f"{name}={values.value(name)}: it needs a JVM; remove it")
    if values.string("ssl.protocol") not in _PROTOCOLS:
        raise ConfigError(f"ssl.protocol={values.string('ssl.protocol')}: must be one of {', '.join(_PROTOCOLS)}")


def _configure(context: ssl.SSLContext, values: TypedValues, material: Material) -> None:
    _check_java_settings(values)
    suites = choose_suites(tuple(filter(None, values.list("ssl.cipher.suites"))))
    lowest, highest = choose_versions(tuple(filter(None, values.list("ssl.enabled.protocols"))), suites)
    context.minimum_version, context.maximum_version = lowest, highest
    if suites is not None and suites.for_tls_1_2:
        _set_suites(context, suites.for_tls_1_2)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    # As Java: any certificate in the trust store is an anchor. Set here, because defaults depend on Python's version.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if material.keys:
        _load_key(context, material.keys[0])
    if material.trusted is not None:
        _load_trusted(context, material.trusted)


def _set_suites(context: ssl.SSLContext, openssl_names: str) -> None:
    try:
        context.set_ciphers(openssl_names)
    except ssl.SSLError:
        raise ConfigError("ssl.cipher.suites: OpenSSL on this machine has none of them, or disables all") from None


def _load_trusted(context: ssl.SSLContext, certificates: tuple[bytes, ...]) -> None:
    try:
        context.load_verify_locations(cadata=b"".join(dict.fromkeys(certificates)))
    except ssl.SSLError:
        raise ConfigError("ssl.truststore: OpenSSL cannot read one of the certificates") from None


def _load_key(context: ssl.SSLContext, pair: KeyPair) -> None:
    chain = b"".join(to_pem("CERTIFICATE", certificate) for certificate in pair.chain)
    with _as_file(pair.key + chain) as path:
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(path, password=pair.password or "")
        except (ssl.SSLError, ValueError) as error:  # ValueError: a password of more than 1024 bytes
            raise ConfigError(f"ssl.keystore: {_why(error)}") from None


def _why(error: ssl.SSLError | ValueError) -> str:
    reason: str = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the private key is not that of the first certificate in the chain"
    if reason.endswith("KEY_TOO_SMALL"):
        return "the key is too short for OpenSSL's level of security (RSA: 2048 bits)"
    if reason == "CA_MD_TOO_WEAK":
        return "the certificate is signed with SHA-1 or MD5, which OpenSSL refuses"
    return "the private key cannot be read, perhaps because ssl.key.password is wrong"


@contextmanager
def _as_file(content: bytes) -> Generator[str, None, None]:
    """A file that no other user can read. `ssl` loads keys from files only. On Linux it is in memory."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("key")
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile() as named:
        named.write(content)
        named.flush()
        yield named.name
