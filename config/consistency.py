"""Checks that look at several settings."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import Config


def check_consistency(config: "Config") -> None:
    return
