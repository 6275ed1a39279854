"""DeleteGroups (KIP-229): delete groups without members, with their offsets.

v1 throttling after the response (KIP-219) · v2 flexible.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from ...coordinator.group.administration import Administration
from ...coordinator.group.share.share_offsets import ShareOffsets
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext
from .awaited import awaited

__all__ = ["DeleteGroups"]


class DeleteGroups:
    """Handler. Where share groups are not served (``serves_shares``), those with states stay: UNSUPPORTED_VERSION."""

    def __init__(
        self,
        administration: Administration,
        shares: ShareOffsets | None = None,
        *,
        serves_shares: Callable[[], bool] = lambda: True,
    ) -> None:
        self._administration = administration
        self._shares = shares
        self._serves_shares = serves_shares

    def __call__(
        self, context: RequestContext, request: DeleteGroupsRequest
    ) -> DeleteGroupsResponse | Awaitable[DeleteGroupsResponse]:
        """The deletion takes effect in memory at once; see `Deletions` for when the response comes. A name given twice
        counts once. The states of share groups are deleted first."""
        groups = dict.fromkeys(request.groups_names)
        denied = context.denied(AclOperation.DELETE, AclResourceType.GROUP, groups)
        shared = [] if self._shares is None else [each for each in groups if self._shares.has_states(each)]
        if self._shares is not None and any(each not in denied for each in shared):
            return self._after_states(self._shares, groups, denied, [each for each in shared if each not in denied])
        response: PendingResponse[DeleteGroupsResponse, DeleteGroupsResponse] = PendingResponse(lambda result: result)
        self._delete(groups, dict.fromkeys(denied, ErrorCode.GROUP_AUTHORIZATION_FAILED), response)
        context.abandon = response.abandon
        return response.take()

    async def _after_states(
        self, shares: ShareOffsets, groups: Collection[str], denied: Iterable[str], shared: Iterable[str]
    ) -> DeleteGroupsResponse:
        codes = dict.fromkeys(denied, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        for group_id in shared:
            code = ErrorCode.UNSUPPORTED_VERSION
            try:
                if self._serves_shares():
                    code = await awaited(partial(shares.delete_states, group_id))
            except KafkaError as error:
                code = error.code
            if code is not ErrorCode.NONE:
                codes[group_id] = code
        response: DeleteGroupsResponse = await awaited(partial(self._delete, groups, codes))
        return response

    def _delete(
        self, groups: Collection[str], refused: Mapping[str, ErrorCode], done: Callable[[DeleteGroupsResponse], None]
    ) -> None:
        """``done``: only its first call counts."""
        codes: dict[str, ErrorCode] = dict(refused)

        def maybe_answer() -> None:
            if len(codes) == len(groups):
                results = [DeletableGroupResult(group_id=each, error_code=codes[each]) for each in groups]
                done(DeleteGroupsResponse(results=results))

        def told(group_id: str, code: ErrorCode) -> None:
            codes[group_id] = code
            maybe_answer()

        for group_id in groups:
            if group_id not in refused:
                code = self._administration.delete_group(group_id, partial(told, group_id))
                if code is not ErrorCode.NONE:
                    codes[group_id] = code
        maybe_answer()
