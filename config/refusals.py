"""What refuses the start."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .config import Config


def check_refusals(config: "Config") -> None:
    return
