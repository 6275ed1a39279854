"""Whether a topic that a share group notes, but the metadata does not have, is gone.

**Why.** The order to lead a partition of groups comes before the metadata of the same change. Until metadata comes, a
topic that the states of a loaded group name may only be unknown here; were it taken for gone, its states would be lost.
"""

from collections.abc import Set

__all__ = ["TopicKnowledge"]


class TopicKnowledge:
    """The groups that were loaded before metadata of topics came. A group that begins here notes only known topics."""

    def __init__(self) -> None:
        self._metadata_count = 0
        """How often metadata of topics came."""
        self._led_since: dict[int, tuple[int, int]] = {}
        """By partition, its leader epoch here, and `_metadata_count` when its first load in that epoch began."""
        self._unsure: set[str] = set()

    def load_begins(self, partition: int, leader_epoch: int) -> None:
        """The groups of a partition are being loaded."""
        if self._led_since.get(partition, (None, 0))[0] != leader_epoch:
            self._led_since[partition] = leader_epoch, self._metadata_count

    def loaded(self, group_id: str, partition: int) -> None:
        if self._metadata_count == self._led_since[partition][1]:
            self._unsure.add(group_id)

    def ended(self, group_id: str) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._unsure.discard(group_id)

    def metadata_came(self) -> Set[str]:
        """Returns the groups for which topics that are missing are gone from now on."""
        self._metadata_count += 1
        sure, self._unsure = self._unsure, set()
        return sure

    def is_sure(self, group_id: str) -> bool:
        """Whether a topic that is missing is gone."""
        return group_id not in self._unsure
