"""Settings of one TLS listener for tests: Kafka's defaults, with some of them replaced."""

from pybroker.config.table import BROKER_SETTINGS
from pybroker.config.typed_values import TypedValues

__all__ = ["tls_values"]


def tls_values(**given: str) -> TypedValues:
    """The values of all ``ssl.*`` settings. ``keystore_location="x"`` sets ``ssl.keystore.location``."""
    values = {name: row.default_value(False) for name, row in BROKER_SETTINGS.items() if name.startswith("ssl.")}
    for name, text in given.items():
        full_name = f"ssl.{name.replace('_', '.')}"
        values[full_name] = BROKER_SETTINGS[full_name].parse(text)
    return TypedValues(values)
