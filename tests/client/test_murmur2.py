"""The partition of a key."""

from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner.default import murmur2
from pybroker.client.producing.murmur2 import partition_of_key


@given(st.binary(max_size=40), st.integers(1, 1_000))
def test_key_has_the_partition_that_other_clients_choose(key: bytes, partitions: int) -> None:
    assert partition_of_key(key, partitions) == (murmur2(key) & 0x7FFFFFFF) % partitions
