"""Creates, grows and deletes topics to which members of a consumer group subscribe."""

import asyncio
from collections.abc import Sequence
from random import Random

from simulation.clients.admin import Admin

__all__ = ["PAUSES_S", "TopicChanges"]

PAUSES_S = (0.05, 0.05, 0.3, 1.0, 2.0)
_REPLICAS = 2


class TopicChanges:
    """Changes each of the topics in turn: created, grown, deleted, and created under another id."""

    def __init__(
        self,
        admin: Admin,
        topics: Sequence[str],
        brokers: Sequence[int],
        random: Random,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self.client = admin.client
        self._admin = admin
        self._topics = topics
        self._brokers = list(brokers)
        self._random = random
        self._pauses_s = pauses_s
        self._is_over = False

    def stop(self) -> None:
        """Begin no more changes."""
        self._is_over = True

    async def run(self) -> None:
        """Change topics until stopped."""
        while not self._is_over:
            topic = self._random.choice(self._topics)
            if await self._admin.create(topic, [self._replicas()], {}, attempts=2):
                await self._pause()
                if self._random.random() < 0.5:
                    await self._admin.grow(topic, [self._replicas()])
                    await self._pause()
                if self._random.random() < 0.7:
                    await self._admin.delete(topic)
            await self._pause()

    def _replicas(self) -> list[int]:
        return self._random.sample(self._brokers, min(_REPLICAS, len(self._brokers)))

    async def _pause(self) -> None:
        await asyncio.sleep(self._random.choice(self._pauses_s))
