"""The parameters of a run with a consumer group (KIP-848), chosen by a seed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from simulation.clients.consumer_member import COOPERATIVE, EAGER
from simulation.clients.member_offsets import CHANGING
from simulation.consumer_groups.member_life import LifePlan
from simulation.consumer_groups.topic_changes import PAUSES_S
from simulation.machines.cluster_shape import ClusterShape
from simulation.runs.faults import FAULTS
from simulation.runs.simulation_run import Plan

__all__ = ["GROUP_ID", "STABLE", "GroupPlan"]

GROUP_ID = "consumers"
STABLE = "stable"
_FAULTS = tuple(name for name in FAULTS if not name.startswith("power fails"))
"""Without the faults by which brokers lose acknowledged records, which no coordinator can prevent."""
_CRASHES_ALONE = ("process dies",)
_MANY_CRASHES = 10
_HASTY_S = (0.05, 0.1, 0.3)
_USUAL_LIVES_S, _LONG_LIVES_S = (1.0, 6.0), (20.0, 30.0)


@dataclass(frozen=True)
class GroupPlan(Plan):
    """The parameters of a run with a consumer group."""

    member_count: int = 3
    static_count: int = 1
    """How many of the members are static."""
    changing_count: int = 1
    """The number of topics that are created, grown and deleted."""
    topic_pauses_s: Sequence[float] = PAUSES_S
    """The time between two of their changes."""
    are_coordinators_moved: bool = False
    is_log_cleaned: bool = False
    """Whether the group's log is compacted. Then its history cannot be checked, only its end."""
    lives: LifePlan = field(default_factory=lambda: LifePlan(GROUP_ID, ((STABLE,),)))

    @classmethod
    def of_seed(cls, seed: int) -> "GroupPlan":
        random, habits = Random(f"consumer groups {seed}"), Random(f"habits of consumer groups {seed}")
        changing = [f"{CHANGING}{number}" for number in range(random.choice((0, 1, 1, 2)))]
        member_count = random.choice((1, 2, 3, 3, 4))
        classic = [None] if seed % 3 else [None, None, random.choice((COOPERATIVE, EAGER))]
        plan = cls(
            broker_count=random.choice((1, 3, 3, 3, 3, 4)),
            duration_s=random.choice((8.0, 10.0, 12.0)),
            fault_count=random.choice((0, 2, 4, 6, 8)),
            change_count=random.choice((0, 0, 2, 4)),
            shape=replace(ClusterShape.by_chance(random), has_racks=False),
            faults=_FAULTS,
            member_count=member_count,
            static_count=random.randint(0, member_count),
            changing_count=len(changing),
            are_coordinators_moved=random.random() < 0.5,
            is_log_cleaned=random.random() < 0.25,
            lives=LifePlan(
                GROUP_ID,
                [(STABLE,), (STABLE, *changing), (STABLE, *changing), tuple(changing[-1:])],
                [f"{CHANGING}.*|{STABLE}"] if seed % 4 == 0 else [],
                random.choice(((None,), ("uniform",), ("range",), ("uniform", "range", None))),
                lives_s=habits.choice((_USUAL_LIVES_S, _USUAL_LIVES_S, _USUAL_LIVES_S, _LONG_LIVES_S)),
                stuck_share=habits.choice((0.15, 0.15, 0.15, 1.0)),
                protocols=classic,
                are_repeated=habits.random() < 0.5,
            ),
        )
        kind = habits.random()
        if kind < 0.1:
            return replace(plan, faults=_CRASHES_ALONE, fault_count=_MANY_CRASHES)
        return plan._with_one_hasty_topic() if kind > 0.8 else plan

    def _with_one_hasty_topic(self) -> "GroupPlan":
        """Only one topic changes, mostly between two heartbeats of the only member."""
        lives = replace(
            self.lives, subscriptions=[(STABLE, f"{CHANGING}0")], patterns=(), lives_s=_LONG_LIVES_S, protocols=(None,)
        )
        return replace(
            self,
            fault_count=0,
            change_count=0,
            member_count=1,
            static_count=0,
            changing_count=1,
            topic_pauses_s=_HASTY_S,
            lives=lives,
        )
