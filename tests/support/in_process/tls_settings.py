"""Settings of one TLS listener for tests: Kafka's defaults, with some of them replaced."""

from pybroker.config.table import BROKER_SETTINGS
from pybroker.config.typed_values import TypedValues
from support.in_process.tls_ends import STORES

__all__ = ["ssl_listener", "tls_values"]


def tls_values(**given: str) -> TypedValues:
    """The values of all ``ssl.*`` settings. ``keystore_location="x"`` sets ``ssl.keystore.location``."""
    values = {name: row.default_value(False) for name, row in BROKER_SETTINGS.items() if name.startswith("ssl.")}
    for name, text in given.items():
        full_name = f"ssl.{name.replace('_', '.')}"
        values[full_name] = BROKER_SETTINGS[full_name].parse(text)
    return TypedValues(values)


def ssl_listener(store: str = "server", trusted: str = "") -> dict[str, str]:
    """The settings of a broker with one listener and stores of the tests. ``trusted`` "": no trust store."""
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(STORES / f"{store}.pem"),
    }
    if trusted:
        settings |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(STORES / f"{trusted}.pem")}
    return settings
