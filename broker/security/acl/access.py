"""Decides whether a client may do something, and logs the verdict (Kafka's AuthHelper with its authorizer)."""

from ....base.acls import AclOperation, PatternType, ResourceType
from .authorizer import Authorizer, Explanation
from .authorizer_log import AuthorizerLog
from .verdicts import Verdicts

__all__ = ["Access"]

_NO_NAME = "NONE"
"""Kafka's name in the log of a question about any resource of a type."""


class Access:
    """Decides by ``authorizer``. ``request`` in all calls: the name of the API, for the log."""

    def __init__(self, authorizer: Authorizer, log: AuthorizerLog) -> None:
        self.authorizer = authorizer
        self._verdicts = Verdicts(authorizer)
        self._log = log

    def may(
        self,
        principal: object,
        host: str,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str,
        *,
        is_quiet: bool = False,
        request: str = "",
        count: int = 1,
    ) -> bool:
        """``is_quiet``: a refusal is not logged, because another right may do. ``count``: mentions in the request."""
        verdict = self._verdicts.may(principal, host, operation, resource_type, name)
        self._log.verdict(
            verdict,
            principal,
            host,
            operation,
            resource_type,
            name,
            request=request,
            count=count,
            is_probe=is_quiet and not verdict,
        )
        return verdict

    def may_by_resource_type(
        self, principal: object, host: str, operation: AclOperation, resource_type: ResourceType, *, request: str = ""
    ) -> bool:
        """Whether the principal may do the operation with at least one resource of the type."""
        verdict = self.authorizer.may_by_resource_type(principal, host, operation, resource_type)
        self._log.verdict(
            verdict,
            principal,
            host,
            operation,
            resource_type,
            _NO_NAME,
            request=request,
            count=0,
            pattern_type=PatternType.UNKNOWN,
        )
        return verdict

    def explain(
        self, principal: object, host: str, operation: AclOperation, resource_type: ResourceType, name: str
    ) -> Explanation:
        """The verdict with the rule that decides; nothing is logged."""
        return self.authorizer.explain(principal, host, operation, resource_type, name)
