"""Shapes of the JSON that the commands about quotas print."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = ["Quota"]


@frozen(kw_only=True)
class Quota:
    """A limit for an entity: a user, a client id, both together, or an address."""

    user: Annotated[str | None, "<default>: all users without a quota of their own; null: the quota is for no user"]
    client_id: Annotated[str | None, "as user"]
    ip: Annotated[str | None, "as user"]
    quota: Annotated[str, "Kafka's name, such as producer_byte_rate"]
    value: Annotated[float | None, "null: it is removed"]
