"""The key store and the trust store that the settings of a listener name.

The combinations that are refused are Kafka's. ``values`` are those of the listener, by the settings' names.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ....base.key_stores.pem import pem_certificates, pem_key_pair
from ....base.key_stores.reading import read_pem_certificates, read_store, refuse_pem
from ....base.key_stores.store import KeyPair, StoreError
from ....config.config_error import ConfigError
from ....config.typed_values import TypedValues

__all__ = ["configured_keys", "configured_trust"]

_Found = TypeVar("_Found")


def configured_keys(values: TypedValues) -> tuple[KeyPair, ...]:
    """The keys of the key store, of which the first is used; empty when none is configured.

    Raises:
        ConfigError: one line that names the setting.
    """
    key = values.optional_string("ssl.keystore.key")
    chain = values.optional_string("ssl.keystore.certificate.chain")
    location = values.optional_string("ssl.keystore.location")
    if key is None and chain is not None:
        raise ConfigError("ssl.keystore.certificate.chain is set, and ssl.keystore.key is not")
    _check("ssl.keystore", "ssl.keystore.key", is_text_set=key is not None, values=values)
    if key is not None:
        if chain is None:
            raise ConfigError("ssl.keystore.key is set, and ssl.keystore.certificate.chain is not")
        text, password = chain, values.optional_string("ssl.key.password")
        return (_named("ssl.keystore.key", lambda: pem_key_pair(key, text, password)),)
    if location is None:
        return ()
    return _named("ssl.keystore.location", lambda: _keys_in(Path(location), values))


def configured_trust(values: TypedValues) -> tuple[bytes, ...] | None:
    """The trusted certificates in DER; None when no trust store is configured.

    Raises:
        ConfigError: one line that names the setting.
    """
    text = values.optional_string("ssl.truststore.certificates")
    location = values.optional_string("ssl.truststore.location")
    _check("ssl.truststore", "ssl.truststore.certificates", is_text_set=text is not None, values=values)
    if text is not None:
        return _named("ssl.truststore.certificates", lambda: pem_certificates(text))
    if location is None:
        return None
    return _named("ssl.truststore.location", lambda: _trusted_in(Path(location), values))


def _check(store: str, text_setting: str, *, is_text_set: bool, values: TypedValues) -> None:
    """Refuse combinations of text, location, type and password that mean nothing."""
    is_pem = values.string(f"{store}.type") == "PEM"
    has_location = values.optional_string(f"{store}.location") is not None
    has_password = values.optional_string(f"{store}.password") is not None
    if is_text_set and not is_pem:
        raise ConfigError(f"{text_setting} is set, and {store}.type is not PEM")
    if is_text_set and has_location:
        raise ConfigError(f"{text_setting} and {store}.location are both set; one of them must go")
    if has_password and is_pem and (is_text_set or has_location):
        raise ConfigError(f"{store}.password is set, and a PEM store has none (a key has: ssl.key.password)")
    if has_password and not is_text_set and not has_location:
        raise ConfigError(f"{store}.password is set, and {store}.location is not")


def _keys_in(path: Path, values: TypedValues) -> tuple[KeyPair, ...]:
    store_type, password = values.string("ssl.keystore.type"), values.optional_string("ssl.keystore.password")
    if store_type != "PEM" and password is None:
        refuse_pem(path)  # a missing type is the likelier mistake
        raise StoreError(f"{path}: ssl.keystore.password is not set")
    keys = read_store(path, store_type, password, values.optional_string("ssl.key.password")).keys
    if not keys:
        raise StoreError(f"{path}: there is no private key in it")
    return keys


def _trusted_in(path: Path, values: TypedValues) -> tuple[bytes, ...]:
    store_type, password = values.string("ssl.truststore.type"), values.optional_string("ssl.truststore.password")
    if store_type == "PEM":
        return read_pem_certificates(path)
    trusted = read_store(path, store_type, password, password).as_trust_store()
    if not trusted:
        raise StoreError(f"{path}: there is no certificate in it")
    return trusted


def _named(setting: str, read: Callable[[], _Found]) -> _Found:
    try:
        return read()
    except StoreError as error:
        raise ConfigError(f"{setting}: {error}") from None
