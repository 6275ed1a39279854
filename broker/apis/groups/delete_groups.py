"""DeleteGroups (KIP-229): delete groups without members, with their offsets.

v1 throttling after the response (KIP-219) · v2 flexible.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
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
        counts once. Share groups that have states come last, one after another."""
        groups = dict.fromkeys(request.groups_names)
        denied = context.denied(AclOperation.DELETE, AclResourceType.GROUP, groups)
        codes = dict.fromkeys(denied, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        response: PendingResponse[Mapping[str, ErrorCode], DeleteGroupsResponse] = PendingResponse(
            partial(_response, groups)
        )

        def told(group_id: str, code: ErrorCode) -> None:
            codes[group_id] = code
            if len(codes) == len(groups):
                response(codes)

        if len(codes) == len(groups):
            response(codes)
        allowed = [each for each in groups if each not in codes]
        shares = self._shares
        with_states = {} if shares is None else dict.fromkeys(each for each in allowed if shares.has_states(each))
        for group_id in allowed:
            if group_id not in with_states:
                self._delete(group_id, partial(told, group_id))
        if shares is None or not with_states:
            context.abandon = response.abandon
            return response.take()
        return self._with_states(shares, with_states, told, response)

    async def _with_states(
        self,
        shares: ShareOffsets,
        groups: Iterable[str],
        told: Callable[[str, ErrorCode], None],
        response: PendingResponse[Mapping[str, ErrorCode], DeleteGroupsResponse],
    ) -> DeleteGroupsResponse:
        for group_id in groups:
            told(group_id, await awaited(partial(self._delete_with_states, shares, group_id)))
        taken = response.take()
        return taken if isinstance(taken, DeleteGroupsResponse) else await taken

    def _delete_with_states(self, shares: ShareOffsets, group_id: str, done: Callable[[ErrorCode], None]) -> None:
        """Delete the group in the turn of the event loop in which its last state is deleted: in a later one, an
        alteration of its offsets might have begun, whose states would stay."""

        def deleted(code: ErrorCode) -> None:
            if code is ErrorCode.NONE:
                self._delete(group_id, done)
            else:
                done(code)

        if not self._serves_shares():
            done(ErrorCode.UNSUPPORTED_VERSION)
            return
        try:
            shares.delete_states(group_id, deleted)
        except KafkaError as error:
            done(error.code)

    def _delete(self, group_id: str, done: Callable[[ErrorCode], None]) -> None:
        code = self._administration.delete_group(group_id, done)
        if code is not ErrorCode.NONE:
            done(code)


def _response(groups: Iterable[str], codes: Mapping[str, ErrorCode]) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[DeletableGroupResult(group_id=each, error_code=codes[each]) for each in groups]
    )
