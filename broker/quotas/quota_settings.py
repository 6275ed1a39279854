"""Brings the quotas in the metadata tree into force on this broker (Kafka: QuotaConfigHandler, IpConfigHandler)."""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from .client_quotas import ClientQuotas
from .connection_rates import ConnectionRates, canonical_address
from .quota_entity import DEFAULT, Name, entity_of_node
from .quota_type import QuotaType, decode_quotas, unreadable_quotas

__all__ = ["QuotaSettings"]

logger = logging.getLogger(__name__)


class QuotaSettings:
    """``addresses_of`` looks up a host and raises OSError; Kafka accepts quotas for host names, too."""

    def __init__(
        self,
        clients: ClientQuotas,
        connections: ConnectionRates,
        addresses_of: Callable[[str], Awaitable[Sequence[str]]],
    ) -> None:
        self.clients = clients
        self.connections = connections
        self._addresses_of = addresses_of
        self._addresses: dict[str, Sequence[str]] = {}  # of each host with a quota
        self._in_force: dict[tuple[str, str], Mapping[QuotaType, float]] = {}  # of each entity with a quota

    async def load(self, entities: Mapping[tuple[str, str], Mapping[str, str]]) -> None:
        """Bring the quotas of all entities into force, before the first client connects."""
        for (entity_type, name), settings in entities.items():
            await self._apply(entity_type, name, settings)
        with_quotas = sum(bool(decode_quotas(settings)) for settings in entities.values())
        if with_quotas:
            logger.info("quotas are in force for %d users, client ids and addresses", with_quotas)

    async def take(self, entity_type: str, name: str, settings: Mapping[str, str]) -> None:
        """Bring the quotas of one entity into force; quotas that are not in ``settings`` are removed."""
        if await self._apply(entity_type, name, settings):
            shown = ", ".join(f"{each.key}={value:.15g}" for each, value in decode_quotas(settings).items())
            logger.info("quotas of %s: %s", _shown(entity_type, name), shown or "none")

    async def _apply(self, entity_type: str, name: str, settings: Mapping[str, str]) -> bool:
        """Whether the entity has other quotas than before."""
        entity = entity_of_node(entity_type, name)
        if entity is None:
            logger.error("quotas of %s are ignored: this is no entity of quotas", _shown(entity_type, name))
            return False
        for key in unreadable_quotas(settings):
            shown = settings[key][:100]
            logger.error("%s of %s is ignored: %r is no number", key, _shown(entity_type, name), shown)
        quotas = decode_quotas(settings)
        if entity.ip is None:
            self.clients.set_limits(entity, quotas)
        else:
            await self._limit_address(entity.ip, quotas.get(QuotaType.CONNECTION))
        before = self._in_force.pop((entity_type, name), {})
        if quotas:
            self._in_force[entity_type, name] = quotas
        return quotas != before

    async def _limit_address(self, ip: Name, bound: float | None) -> None:
        if ip is DEFAULT:
            self.connections.set_limit(ip, bound)
            return
        for address in self._addresses.pop(ip, ()):
            self.connections.set_limit(address, None)
        if bound is None:
            return
        try:
            addresses = await self._addresses_of(ip)
        except OSError as error:
            logger.error("connection_creation_rate of %s is ignored: its address is not known: %s", ip, error)
            return
        self._addresses[ip] = addresses = [canonical_address(address) for address in addresses]
        for address in addresses:
            self.connections.set_limit(address, bound)


def _shown(entity_type: str, name: str) -> str:
    """The entity for a log line; any writer of the tree may have chosen its name."""
    return f"{entity_type}/{name[:300]}".encode("unicode_escape").decode()
