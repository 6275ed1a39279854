"""A response encoded in turns has the bytes of the same response encoded whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.requests.encoded_in_turns import EncodedInTurns
from pybroker.protocol.codec import encode
from pybroker.protocol.messages.describe_acls import AclDescription, DescribeAclsResource, DescribeAclsResponse
from support.time.loop_turns import turns_during


def resource(name: str, acls: int) -> DescribeAclsResource:
    return DescribeAclsResource(
        resource_type=2, resource_name=name, pattern_type=3, acls=[AclDescription(principal=name)] * acls
    )


def response(throttle_time_ms: int, resources: list[DescribeAclsResource]) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_message="é", throttle_time_ms=throttle_time_ms, resources=resources)


@given(
    st.lists(st.builds(resource, st.text(st.characters(exclude_categories=["Cs"]), max_size=3), st.integers(0, 150))),
    st.integers(0, 3),
    st.integers(0, 2**31 - 1),
)
async def test_bytes_are_those_of_the_whole_response(
    resources: list[DescribeAclsResource], version: int, throttle_time_ms: int
) -> None:
    in_turns = EncodedInTurns(response, version)
    for each in resources:
        await in_turns.add(each, len(each.acls) or 1)
    assert in_turns.encode_body(throttle_time_ms) == encode(response(throttle_time_ms, resources), version)


@pytest.mark.parametrize("version", [1, 3])
@pytest.mark.parametrize("count", [99, 100, 126, 127, 128, 2_000])
async def test_other_tasks_run_while_a_long_response_is_encoded(count: int, version: int) -> None:
    in_turns, item = EncodedInTurns(response, version), resource("t", 1)

    async def add_all() -> None:
        for _ in range(count):
            await in_turns.add(item, 1)

    assert await turns_during(add_all()) == 1 + count // 100
    assert in_turns.encode_body(0) == encode(response(0, [item] * count), version)
