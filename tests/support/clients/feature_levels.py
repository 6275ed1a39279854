"""Raises the level of a feature of a cluster."""

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.clients.wire_client import WireClient

__all__ = ["raise_level"]


def raise_level(servers: str, feature: str) -> None:
    """Raises the level to 1. Asks each broker, of which the controller alone does it."""
    update = FeatureUpdateKey(feature=feature, max_version_level=1, upgrade_type=1)
    codes = []
    for server in servers.split(","):
        with WireClient(server) as client:
            answer = client.ask(UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=[update]), 1)
            codes.append(answer.error_code)
    assert codes.count(ErrorCode.NONE) == 1
