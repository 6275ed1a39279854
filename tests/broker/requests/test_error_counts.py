"""Error codes of responses are counted wherever they stand."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.requests.error_counts import count_errors, error_places
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from pybroker.protocol.messages.heartbeat import HeartbeatResponse
from pybroker.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic


def test_code_at_the_top_is_counted_also_if_it_is_none() -> None:
    counts: dict[int, int] = {}
    places = error_places(HeartbeatResponse)
    count_errors(places, HeartbeatResponse(error_code=27), counts)
    count_errors(places, HeartbeatResponse(), counts)
    count_errors(places, HeartbeatResponse(), counts)
    assert counts == {0: 2, 27: 1}


def test_codes_of_topics_and_partitions_are_counted_one_by_one() -> None:
    counts: dict[int, int] = {}
    partitions = [MetadataResponsePartition(error_code=5), MetadataResponsePartition(), MetadataResponsePartition()]
    topics = [MetadataResponseTopic(error_code=3), MetadataResponseTopic(partitions=partitions)]
    count_errors(error_places(MetadataResponse), MetadataResponse(topics=topics), counts)
    assert counts == {3: 1, 5: 1, 0: 3}


@given(
    st.lists(st.tuples(st.sampled_from([0, 3, 29]), st.lists(st.sampled_from([0, 0, 5, 9]), max_size=12)), max_size=12)
)
def test_counts_are_those_of_a_walk_through_all_elements(topics: list[tuple[int, list[int]]]) -> None:
    counts: dict[int, int] = {}
    response = MetadataResponse(
        topics=[
            MetadataResponseTopic(
                error_code=code, partitions=[MetadataResponsePartition(error_code=each) for each in inside]
            )
            for code, inside in topics
        ]
    )
    count_errors(error_places(MetadataResponse), response, counts)
    assert counts == Counter([code for code, _ in topics] + [each for _, inside in topics for each in inside])


def test_fetch_counts_its_own_code_and_those_of_its_partitions() -> None:
    counts: dict[int, int] = {}
    topic = FetchableTopicResponse(partitions=[PartitionData(error_code=1), PartitionData()])
    count_errors(error_places(FetchResponse), FetchResponse(responses=[topic]), counts)
    assert counts == {0: 2, 1: 1}


def test_nearly_every_response_has_a_place_for_an_error() -> None:
    without = {key for key, spec in API_SPECS.items() if not any(error_places(spec.response_type()))}
    assert without <= {ApiKey.CONTROLLER_REGISTRATION, ApiKey.UPDATE_RAFT_VOTER}
