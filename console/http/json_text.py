"""JSON as the console sends it."""

from __future__ import annotations

import json
from typing import Any


def json_text(data: Any) -> str:
    """Returns JSON in ASCII, so it has no line ends."""
    return json.dumps(data, separators=(",", ":"))
