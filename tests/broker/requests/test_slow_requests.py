"""Which requests are slow, and what the line about them says."""

import logging

import pytest
from pybroker.broker.network.request import ConnectionInfo, Request
from pybroker.broker.requests.slow_requests import SlowRequests
from pybroker.protocol.apis import ApiKey
from pybroker.views.requests import SlowRequest

SENT_S = 100.0


def request(
    key: ApiKey, *, queue: float = 0.0, local: float = 0.0, remote: float = 0.0, behind: float = 0.0, send: float = 0.0
) -> Request:
    """A finished request with these phases in seconds."""
    info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("10.0.0.1", 9092), ("10.0.0.9", 50000))
    made = Request(key.value, 9, 7, "client", 0, bytearray(), info, 0)
    made.frame_bytes, made.response_bytes = 200, 60
    made.sending_s = SENT_S - send
    made.answered_s = made.sending_s - behind
    made.handled_s = made.answered_s - remote
    made.started_s = made.handled_s - local
    made.received_s = made.started_s - queue
    return made


def noted(*requests: Request, threshold_ms: int = 1000) -> list[SlowRequest]:
    slow = SlowRequests(threshold_ms, lambda: 1234)
    for each in requests:
        slow.note(each, SENT_S)
    return list(slow.newest_first())


def test_slow_request_is_listed_with_its_phases_sizes_and_reason(caplog: pytest.LogCaptureFixture) -> None:
    produce = request(ApiKey.PRODUCE, queue=0.1, local=0.02, remote=1.84, behind=0.01, send=0.02)
    produce.waited_for = lambda: "follower 3 of orders-4 is 12,400 records behind"
    with caplog.at_level(logging.WARNING):
        (slow,) = noted(produce)
    assert (slow.api, slow.version, slow.client_id, slow.host) == ("Produce", 9, "client", "10.0.0.9")
    assert (slow.request_bytes, slow.response_bytes, slow.time_ms) == (200, 60, 1234)
    assert slow.queue_ms + slow.local_ms + slow.remote_ms + slow.send_ms == pytest.approx(slow.total_ms)
    assert slow.waited_for == "remote 1,840 ms: follower 3 of orders-4 is 12,400 records behind"
    (line,) = caplog.messages
    assert "slow request: Produce v9 of client 'client' (User:ANONYMOUS, 10.0.0.9) took 1,990 ms, remote 1,840" in line


def test_time_for_which_the_client_asked_to_wait_does_not_count() -> None:
    patient = request(ApiKey.FETCH, remote=5.0)
    patient.asked_wait_ms = 5000
    member = request(ApiKey.JOIN_GROUP, remote=60.0)
    late = request(ApiKey.FETCH, remote=6.5)
    late.asked_wait_ms = 5000
    busy_member = request(ApiKey.JOIN_GROUP, local=1.5, remote=60.0)
    assert [slow.total_ms for slow in noted(patient, member, late, busy_member)] == [61500, 6500]


def test_throttled_client_is_told_of_by_its_quota() -> None:
    throttled = request(ApiKey.PRODUCE, local=0.1)
    throttled.throttle_time_ms = 1200
    (slow,) = noted(throttled)
    assert slow.waited_for == "throttled 1,200 ms: a quota of user 'ANONYMOUS', client id 'client'"
    assert (slow.throttle_ms, slow.total_ms) == (1200, 100)


@pytest.mark.parametrize(
    ("phase", "reason"),
    [
        ("queue", "queue 2,000 ms: the broker worked on other requests"),
        ("local", "local 2,000 ms: the broker worked on it"),
        ("remote", "remote 2,000 ms: worker threads, the metadata store or other brokers"),
        ("behind", "response queue 2,000 ms: earlier requests of the connection were not answered"),
        ("send", "send 2,000 ms: the client read the response slowly"),
    ],
)
def test_longest_phase_gives_the_reason(phase: str, reason: str) -> None:
    (slow,) = noted(request(ApiKey.METADATA, **{phase: 2.0}))
    assert slow.waited_for == reason


def test_last_thousand_are_kept_the_newest_first_and_names_are_cut() -> None:
    slow = SlowRequests(1, lambda: 0)
    for number in range(1200):
        each = request(ApiKey.METADATA, local=2.0)
        each.api_version = number
        each.client_id = "x" * 5000
        slow.note(each, SENT_S)
    listed = list(slow.newest_first())
    assert [each.version for each in listed] == list(range(1199, 199, -1))
    assert slow.count == 1200
    assert len(listed[0].client_id) == 200
