"""Events of share groups (KIP-932)."""

from ..event import event

SHARE_GROUPS = (
    event(
        "share-group.member-removed",
        "INFO",
        "broker/coordinator/group/share/share_groups.py",
        "group %s: share member %s removed: its session has ended",
        "group member",
        "A member was silent for its session.",
        "Check that the consumer runs.",
    ),
    event(
        "share-group.no-space",
        "WARNING",
        "broker/coordinator/group/share/lookup.py",
        "group %s: no space, pybroker.groups.max.bytes is reached",
        "group",
        "The memory allowed for groups is used up, so a client could not join or change its subscription.",
        "Raise pybroker.groups.max.bytes, or look for a client that subscribes to very many topics.",
    ),
    event(
        "share-group.no-space-for-records",
        "WARNING",
        "broker/share/partition_memory.py",
        "group %s: no new record acquired: pybroker.share.states.max.bytes is reached",
        "group",
        "The memory for records of share groups is used up, so members get no new records until others acknowledge.",
        "Raise pybroker.share.states.max.bytes, or look for members that hold many records.",
    ),
    event(
        "share-group.no-space-for-states",
        "WARNING",
        "broker/coordinator/share/registry.py",
        "group %s: state of a share partition not stored: %d of pybroker.share.states.max.bytes=%d are used",
        "group used_bytes max_bytes",
        "The memory for the states of share partitions is used up, so acknowledgements were refused.",
        "Raise pybroker.share.states.max.bytes, or delete share groups that nobody uses, or their offsets.",
    ),
    event(
        "share-group.state-unreachable",
        "INFO",
        "broker/inter_broker/remote_share_states.py",
        "broker %d cannot be reached for the state of a share partition: %s",
        "broker error",
        "The broker that stores the state of a share partition cannot be reached. It is asked again for a while.",
        "Check that the named broker runs, and the network to it.",
    ),
    event(
        "share-group.states-not-created",
        "WARNING",
        "broker/coordinator/group/share/initializations.py",
        "group %s: states of %d partitions not created: %s",
        "group partitions error",
        "The share coordinator has not stored the states of new partitions. It is asked again soon.",
        "Check that __share_group_state has a leader and enough in-sync replicas.",
    ),
    event(
        "share-group.topics-not-looked-at",
        "ERROR",
        "broker/coordinator/group/share/topic_looks.py",
        "group %s: changed topics not looked at",
        "group",
        "The topics of a large share group could not be compared with those before. The next heartbeat compares them.",
        "Report it as a bug, with the traceback.",
    ),
)
