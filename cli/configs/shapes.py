"""Shapes of the JSON that the commands about settings print."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = ["Setting", "SettingChange", "SettingDifference"]


@frozen(kw_only=True)
class Setting:
    """One setting of a resource."""

    resource: Annotated[str, "such as topic/orders, broker/1 or brokers"]
    name: str
    value: Annotated[str | None, "null: it has no value, or it is secret"]
    source: Annotated[str, "topic, broker, all brokers, file, default, broker logger, group; unknown: an old broker"]
    is_default: Annotated[bool, "the value is a default, or comes from elsewhere than the resource"]
    is_read_only: bool
    is_secret: bool
    documentation: Annotated[str | None, "null: none was asked for, or the broker has none"]


@frozen(kw_only=True)
class SettingChange:
    """A change of a setting that was made, or with ``--dry-run`` would be."""

    resource: str
    name: str
    old_value: Annotated[str | None, "null: it had none, or it is secret"]
    new_value: Annotated[str | None, "null: it is reset"]
    is_dry_run: bool


@frozen(kw_only=True)
class SettingDifference:
    """A setting that two resources do not share. A value is null where the setting is missing, or secret."""

    name: str
    first: str | None
    second: str | None
