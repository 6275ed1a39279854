"""Security settings of writers: librdkafka, which they use, has other names than Kafka for some of them."""

from __future__ import annotations

from collections.abc import Mapping

from ...client.given_options import GivenOptions
from ...client.security_settings import take_sasl, take_tls
from .options import KAFKA_PREFIX


def librdkafka_security(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the security options by librdkafka's names, and all other options unchanged. Raises OptionError."""
    options = GivenOptions(given, KAFKA_PREFIX)
    tls = take_tls(options)
    named = {
        "ssl.ca.location": tls.trust_file,
        "ssl.ca.pem": tls.trust_text,
        "ssl.certificate.location": tls.certificate_file,
        "ssl.certificate.pem": tls.certificate_text,
        "ssl.key.location": tls.key_file or tls.certificate_file,
        "ssl.key.pem": tls.certificate_text,
        "ssl.key.password": tls.key_password,
        "ssl.endpoint.identification.algorithm": None if tls.check_hostname else "none",
    }
    if "sasl.jaas.config" in options:
        sasl = take_sasl(options, is_wanted=True)
        assert sasl is not None
        named |= {"sasl.mechanism": sasl.mechanism, "sasl.username": sasl.user, "sasl.password": sasl.password}
    return {name: value for name, value in named.items() if value is not None} | options.left()
