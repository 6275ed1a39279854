"""Security settings of connections: `security.protocol`, `ssl.*` and `sasl.*`, with Kafka's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..base.frozen import frozen
from ..base.kafka_names import SECURITY_PROTOCOLS
from ..protocol.client.sasl import Credentials
from .given_options import GivenOptions, OptionError
from .sasl_settings import take_sasl
from .tls_settings import TlsSettings, take_tls

if TYPE_CHECKING:
    from .oauth.token_login import TokenLogin


@frozen
class SecuritySettings:
    """`tls` is None for plaintext connections, `sasl` is None without login."""

    tls: TlsSettings | None
    sasl: Credentials | TokenLogin | None


def take_security(options: GivenOptions) -> SecuritySettings:
    """Removes the security options from `options` and returns them checked. Raises OptionError."""
    name = "security.protocol"
    protocol = options.text(name, "PLAINTEXT").strip().upper()
    if protocol not in SECURITY_PROTOCOLS:
        raise OptionError(
            f"Option {options.named(name)} must be one of {', '.join(SECURITY_PROTOCOLS)}, not '{protocol}'"
        )
    tls, sasl = take_tls(options), take_sasl(options, is_wanted=protocol.startswith("SASL_"))
    return SecuritySettings(tls if protocol.endswith("SSL") else None, sasl)
