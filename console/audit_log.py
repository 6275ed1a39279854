"""The console's record of who looked at records and who changed the cluster."""

from __future__ import annotations

import json
import logging
from typing import Any

logger = logging.getLogger(__name__)

_MAX_CHARACTERS = 300


def audit(user: str | None, action: str, **about: Any) -> None:
    """Log one line. Texts from requests are quoted, so that they cannot look like another line."""
    parts = [f"{name}={_shown(value)}" for name, value in about.items() if value is not None]
    logger.info("audit: %s by %s %s", action, _shown(user or "anonymous"), " ".join(parts))


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
