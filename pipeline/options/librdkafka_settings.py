"""Security settings of writers: librdkafka, which they use, has other names than Kafka for some of them."""

from __future__ import annotations

from collections.abc import Mapping

from ...client.given_options import GivenOptions, OptionError
from ...client.oauth.provider_url import is_file_url
from ...client.oauth.token_login import TokenLogin
from ...client.sasl_settings import take_sasl
from ...client.tls_settings import TlsSettings, take_tls
from ...protocol.client.sasl import OAUTHBEARER, Credentials
from .options import KAFKA_PREFIX


def security_of_stores(tls: TlsSettings) -> dict[str, str]:
    """Returns the settings for Java's stores, which are read now; empty without one. Raises OptionError."""
    read = tls.with_stores_read()
    named = {
        "ssl.ca.pem": read.trust_text if tls.stores.trust else None,
        "ssl.certificate.pem": read.certificate_text if tls.stores.keys else None,
        "ssl.key.pem": read.certificate_text if tls.stores.keys else None,
    }
    return {name: value for name, value in named.items() if value is not None}


def librdkafka_security(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the security options by librdkafka's names, and all other options unchanged. Java's stores are left out,
    because they are read where they are used (`security_of_stores`). Raises OptionError.
    """
    options = GivenOptions(given, KAFKA_PREFIX)
    tls = take_tls(options)
    named = {
        "ssl.ca.location": tls.trust_file,
        "ssl.ca.pem": tls.trust_text,
        "ssl.certificate.location": tls.certificate_file,
        "ssl.certificate.pem": tls.certificate_text,
        "ssl.key.location": tls.key_file or tls.certificate_file,
        "ssl.key.pem": tls.certificate_text,
        "ssl.key.password": None if tls.stores.keys else tls.key_password,
        "ssl.endpoint.identification.algorithm": None if tls.check_hostname else "none",
    }
    if "sasl.jaas.config" in options:
        sasl = take_sasl(options, is_wanted=True)
        assert sasl is not None
        named |= _token_login(sasl) if isinstance(sasl, TokenLogin) else _password_login(sasl)
    return {name: value for name, value in named.items() if value is not None} | options.left()


def _password_login(sasl: Credentials) -> dict[str, str | None]:
    return {"sasl.mechanism": sasl.mechanism, "sasl.username": sasl.user, "sasl.password": sasl.password}


def _token_login(sasl: TokenLogin) -> dict[str, str | None]:
    """Raises OptionError for a token in a file, and for TLS options of the endpoint that librdkafka does not have."""
    if is_file_url(sasl.url):
        raise OptionError(f"{sasl.url}: writers get tokens from an endpoint only, not from a file")
    tls = sasl.tls
    if tls != TlsSettings(tls.trust_file, None, None, None, check_hostname=True, trust_text=tls.trust_text):
        raise OptionError(
            f"{sasl.url}: writers take only a truststore of type PEM from the options 'ssl.…' in "
            "'kafka.sasl.jaas.config'"
        )
    extensions = ",".join(f"{name}={value}" for name, value in sasl.extensions)
    return {
        "sasl.mechanism": OAUTHBEARER,
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": sasl.url,
        "sasl.oauthbearer.client.id": sasl.client_id,
        "sasl.oauthbearer.client.secret": sasl.client_secret,
        "sasl.oauthbearer.scope": sasl.scope or None,
        "sasl.oauthbearer.extensions": extensions or None,
        "https.ca.location": tls.trust_file,
        "https.ca.pem": tls.trust_text,
    }
