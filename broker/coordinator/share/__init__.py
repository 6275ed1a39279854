"""The share coordinator: it stores the state of share partitions in ``__share_group_state`` (KIP-932)."""
