"""A ShareGroupHeartbeat, and the rules that hold whatever the state of the group is (KIP-932)."""

from typing import NamedTuple

from .....protocol.errors import InvalidRequestError
from .records import MemberMetadata

__all__ = ["JOIN_EPOCH", "LEAVE_EPOCH", "ShareHeartbeat", "check"]

JOIN_EPOCH = 0
LEAVE_EPOCH = -1


class ShareHeartbeat(NamedTuple):
    """A request. None in a field: unchanged since the member's last heartbeat."""

    group_id: str
    member_id: str
    member_epoch: int
    rack_id: str | None
    names: tuple[str, ...] | None
    client_id: str
    client_host: str

    def updated(self, before: MemberMetadata) -> MemberMetadata:
        """The member's metadata with the fields that the request has."""
        return MemberMetadata(
            before.member_id,
            before.rack_id if self.rack_id is None else self.rack_id,
            self.client_id,
            self.client_host,
            before.names if self.names is None else tuple(sorted(set(self.names))),
        )


def check(heartbeat: ShareHeartbeat) -> None:
    """Raises InvalidRequestError for a request that is not valid whatever the state of the group is."""
    texts = (("MemberId", heartbeat.member_id), ("GroupId", heartbeat.group_id), ("RackId", heartbeat.rack_id))
    for name, text in texts:
        if text is not None and not text.strip():
            raise InvalidRequestError(f"{name} can't be empty.")
    if heartbeat.member_epoch == JOIN_EPOCH and not heartbeat.names:
        raise InvalidRequestError("SubscribedTopicNames must be set in first request.")
    if heartbeat.member_epoch < LEAVE_EPOCH:
        raise InvalidRequestError("MemberEpoch is invalid.")
