"""The three state machines of a controller's term: partitions, replicas, and the deletion of topics."""

from ..base.frozen import frozen
from .partition_state_machine import PartitionStateMachine
from .replica_state_machine import ReplicaStateMachine
from .topic_deletion import TopicDeletion

__all__ = ["StateMachines"]


@frozen
class StateMachines:
    """They share the context and the request batch of the term; one event of the controller moves several of them."""

    partitions: PartitionStateMachine
    replicas: ReplicaStateMachine
    deletion: TopicDeletion
