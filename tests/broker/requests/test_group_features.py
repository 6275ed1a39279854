"""The handlers of a group protocol answer while the protocol is served."""

from typing import Any

import pytest
from pybroker.broker.requests.group_features import GroupFeatures, WhileServed
from pybroker.controller.features import FeatureLevels
from pybroker.protocol.errors import UnsupportedVersionError
from support.in_process.served_apis import Anything


def test_handlers_of_share_groups_follow_the_level_of_share_version_in_a_cluster() -> None:
    levels = FeatureLevels(None)  # type: ignore[arg-type]
    share = GroupFeatures.asked_for(levels, ["share.version"], is_in_cluster=True).share
    handler, context = WhileServed(lambda _context, request: request, share), Anything()
    refused: Any = pytest.raises(UnsupportedVersionError)
    with refused:
        handler(context, "a")  # type: ignore[arg-type]
    levels.levels = {"group.version": 1}
    with refused:
        handler(context, "a")  # type: ignore[arg-type]
    levels.levels = {"share.version": 1}
    assert handler(context, "b") == "b"  # type: ignore[arg-type]
