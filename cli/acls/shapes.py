"""Shapes of the JSON that the commands about access rules print."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = ["AccessRule", "AccessRuleChange", "AccessVerdict"]


@frozen(kw_only=True)
class AccessRule:
    """A rule: a principal may or may not do an operation on the resources of a pattern."""

    resource_type: Annotated[str, "such as Topic, Group, Cluster or TransactionalId"]
    resource: Annotated[str, "a name, * for all, or with pattern PREFIXED the beginning of names"]
    pattern: Annotated[str, "LITERAL or PREFIXED"]
    principal: Annotated[str, "such as User:alice; User:* is everyone"]
    host: Annotated[str, "an address, or * for all"]
    operation: Annotated[str, "such as Read, or All"]
    permission: Annotated[str, "ALLOW or DENY"]


@frozen(kw_only=True)
class AccessRuleChange:
    """A rule that was added or removed, or with ``--dry-run`` would be."""

    change: Annotated[str, "added or removed"]
    rule: AccessRule
    is_dry_run: bool


@frozen(kw_only=True)
class AccessVerdict:
    """Whether a user may do an operation on a resource, and why."""

    principal: str
    host: str
    operation: str
    resource: Annotated[str, "with its type, such as Topic/orders"]
    is_allowed: Annotated[bool | None, "null: a setting decides whose value the brokers keep secret"]
    reason: str
    rule: Annotated[AccessRule | None, "the rule that decides; null: no rule decides"]
    nearest: Annotated[tuple[AccessRule, ...], "rules that nearly allow a denied operation"]
    doubts: Annotated[tuple[str, ...], "settings that the brokers keep secret and that could change the verdict"]
