"""The name of the user behind a TLS connection (Kafka's ``DefaultKafkaPrincipalBuilder`` for SSL)."""

from ....base.key_stores.certificates import read_certificate
from ....base.key_stores.der import DerError
from ....config.mapping_rules import MappingRules
from .distinguished_names import distinguished_name

__all__ = ["ANONYMOUS_USER", "user_of_peer"]

ANONYMOUS_USER = "ANONYMOUS"


def user_of_peer(certificate: bytes | None, rules: MappingRules) -> str | None:
    """The user's name: ``ANONYMOUS`` without a certificate, None if no mapping rule applies or the name is malformed.

    None means that the peer is not authenticated: the connection must be closed.
    """
    if certificate is None:
        return ANONYMOUS_USER
    try:
        return rules.user_of(distinguished_name(read_certificate(certificate).subject))
    except DerError:
        return None
