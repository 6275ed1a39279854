"""TLS to an identity provider, from the options ``ssl.…`` of OAuthBearerLoginModule.

**Why** options: Kafka reads them there (``JaasOptionsUtils``), so that the provider may have another authority than the
brokers.
"""

import ssl
from collections.abc import Mapping

from ....config.config_error import ConfigError
from ....config.table import BROKER_SETTINGS
from ....config.typed_values import TypedValues
from ....config.values import BadValueError
from ..tls.context import client_context, read_material

__all__ = ["endpoint_context"]


def endpoint_context(options: Mapping[str, str]) -> ssl.SSLContext | None:
    """Without a trust store among the options the system's authorities are trusted, as by Java. None: no option is
    about TLS. Raises ConfigError."""
    given = {name: text for name, text in options.items() if name.startswith("ssl.")}
    if not given:
        return None
    values = {name: row.default_value(False) for name, row in BROKER_SETTINGS.items() if name.startswith("ssl.")}
    for name, text in given.items():
        if name not in values:
            raise ConfigError(f"the login module has an unknown option {name}")
        try:
            values[name] = BROKER_SETTINGS[name].parse(text)
        except BadValueError as error:
            raise ConfigError(f"option {name} of the login module: {error}") from None
    typed = TypedValues(values)
    try:
        return client_context(typed, read_material(typed), trusts_system=True)
    except ConfigError as error:
        raise ConfigError(f"options of the login module: {error}") from None
