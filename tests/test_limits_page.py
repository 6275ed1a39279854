"""Checks that every limit in docs/operator/limits.md has its default there, and a test that reaches it."""

import re
from pathlib import Path

import pytest
from pybroker.config.table import BROKER_SETTINGS

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"\| `([\w.]+)` \| (?:`([^`]*)`)? ?\| [^|]+ \| [^|]+ \|")
COLUMNS = 120
LINES = 105

# The one test that reaches each limit.
TESTS = {
    "socket.request.max.bytes": (
        "tests/hostile/test_frames.py",
        "test_impossible_frame_size_closes_the_connection_and_is_logged_once",
    ),
    "queued.max.request.bytes": (
        "tests/broker/network/test_memory_back_pressure.py",
        "test_partial_frames_that_fill_the_memory_are_completed_one_after_another",
    ),
    "queued.max.requests": (
        "tests/broker/network/test_memory_back_pressure.py",
        "test_connection_is_not_read_over_queued_max_requests",
    ),
    "pybroker.request.max.elements": (
        "tests/hostile/test_identities.py",
        "test_request_with_too_many_elements_closes_its_connection",
    ),
    "pybroker.max.in.flight.requests.per.connection": (
        "tests/hostile/test_limits_set_low.py",
        "test_connection_is_not_read_at_its_limit_of_requests_in_flight",
    ),
    "pybroker.unsent.max.bytes": (
        "tests/hostile/test_slow_peers.py",
        "test_responses_that_are_never_read_are_bounded_over_all_connections",
    ),
    "pybroker.local.send.buffers.max.bytes": (
        "tests/broker/network/test_local_socket_options.py",
        "test_wide_send_buffers_are_given_until_their_budget_is_used_up",
    ),
    "pybroker.decoded.requests.max.bytes": (
        "tests/hostile/test_waiting_requests.py",
        "test_memory_of_decoded_small_requests_in_progress_is_bounded_over_all_connections",
    ),
    "pybroker.fetch.waiting.max.bytes": (
        "tests/hostile/test_identities.py",
        "test_memory_of_waiting_fetches_is_bounded",
    ),
    "fetch.max.bytes": (
        "tests/hostile/test_limits_set_low.py",
        "test_fetch_response_has_no_more_bytes_of_records_than_the_brokers_fetch_max_bytes",
    ),
    "pybroker.batch.max.decompressed.bytes": (
        "tests/hostile/test_batches.py",
        "test_megabyte_that_decompresses_to_ten_gigabytes_is_refused",
    ),
    "pybroker.batch.inline.max.bytes": (
        "tests/hostile/test_limits_set_low.py",
        "test_batch_over_an_inline_limit_is_read_by_another_process",
    ),
    "pybroker.batch.inline.max.records": (
        "tests/hostile/test_limits_set_low.py",
        "test_batch_over_an_inline_limit_is_read_by_another_process",
    ),
    "pybroker.batch.max.record.errors": (
        "tests/hostile/test_limits_set_low.py",
        "test_refusal_names_at_most_as_many_records_as_batch_max_record_errors",
    ),
    "message.max.bytes": (
        "tests/storage/test_append.py",
        "test_batch_over_max_message_bytes_is_refused",
    ),
    "max.connections": (
        "tests/broker/network/test_listener.py",
        "test_connection_over_max_connections_waits_until_another_one_closes",
    ),
    "max.connections.per.ip": (
        "tests/broker/network/test_listener.py",
        "test_connection_over_max_connections_per_ip_is_closed_at_once",
    ),
    "max.connections.per.ip.overrides": (
        "tests/broker/network/test_connection_limits.py",
        "test_override_replaces_max_connections_per_ip_for_its_address",
    ),
    "max.connection.creation.rate": (
        "tests/broker/network/test_connection_limits.py",
        "test_connections_are_admitted_at_the_creation_rate",
    ),
    "connections.max.idle.ms": (
        "tests/broker/network/test_listener.py",
        "test_idle_connection_is_closed_after_connections_max_idle_ms",
    ),
    "pybroker.tls.handshake.timeout.ms": (
        "tests/broker/network/test_encrypted_listener.py",
        "test_client_that_is_slow_in_its_handshake_is_closed_after_pybroker_tls_handshake_timeout_ms",
    ),
    "pybroker.tls.handshakes.max": (
        "tests/broker/network/test_encrypted_listener.py",
        "test_oldest_of_more_handshakes_than_pybroker_tls_handshakes_max_is_closed",
    ),
    "pybroker.http.timeout.ms": (
        "tests/hostile/test_http.py",
        "test_clients_that_send_or_read_too_slowly_are_dropped",
    ),
    "pybroker.metrics.max.series": (
        "tests/broker/metrics/test_exposition.py",
        "test_partitions_go_first_beyond_the_limit_then_topics_and_the_brokers_series_stay",
    ),
    "socket.listen.backlog.size": (
        "tests/broker/network/test_listener.py",
        "test_connection_is_closed_when_the_backlog_of_waiting_ones_is_full",
    ),
    "max.incremental.fetch.session.cache.slots": (
        "tests/hostile/test_identities.py",
        "test_number_of_fetch_sessions_is_bounded_by_the_cache_slots",
    ),
    "pybroker.fetch.sessions.max.partitions": (
        "tests/hostile/test_identities.py",
        "test_partitions_of_all_fetch_sessions_together_are_bounded",
    ),
    "pybroker.groups.max.bytes": (
        "tests/hostile/test_groups.py",
        "test_member_metadata_is_bounded_over_all_groups",
    ),
    "group.max.size": (
        "tests/hostile/test_groups.py",
        "test_join_over_group_max_size_is_refused",
    ),
    "group.max.session.timeout.ms": (
        "tests/broker/coordinator/group/test_joining.py",
        "test_session_timeouts_outside_the_limits_are_refused",
    ),
    "offset.metadata.max.bytes": (
        "tests/broker/coordinator/group/test_commits.py",
        "test_offset_metadata_that_is_too_long_is_refused_for_its_partition_alone",
    ),
    "pybroker.offsets.max.bytes": (
        "tests/hostile/test_identities.py",
        "test_new_offsets_over_pybroker_offsets_max_bytes_are_refused",
    ),
    "pybroker.legacy.offsets.max.bytes": (
        "tests/hostile/test_identities.py",
        "test_new_version_0_offsets_over_pybroker_legacy_offsets_max_bytes_are_refused",
    ),
    "group.share.max.share.sessions": (
        "tests/broker/share/test_share_apis.py",
        "test_session_beyond_the_limit_is_refused_after_the_maximum_wait",
    ),
    "group.share.partition.max.record.locks": (
        "tests/broker/share/test_share_partition.py",
        "test_new_records_are_acquired_only_below_the_limit_of_locks",
    ),
    "pybroker.share.states.max.bytes": (
        "tests/broker/coordinator/share/test_state_writer.py",
        "test_states_take_no_more_memory_than_the_limit_and_the_log_says_so",
    ),
    "pybroker.transactions.max.bytes": (
        "tests/broker/coordinator/transaction/test_coordinator.py",
        "test_new_ids_are_refused_when_pybroker_transactions_max_bytes_is_reached",
    ),
    "pybroker.partitions.max": (
        "tests/hostile/test_identities.py",
        "test_topics_and_partitions_over_pybroker_partitions_max_are_refused",
    ),
    "pybroker.partitions.max.per.creation": (
        "tests/hostile/test_limits_set_low.py",
        "test_creation_or_growth_over_partitions_max_per_creation_is_refused",
    ),
    "pybroker.topic.settings.max.bytes": (
        "tests/hostile/test_limits_set_low.py",
        "test_topic_settings_over_pybroker_topic_settings_max_bytes_are_refused",
    ),
    "pybroker.broker.settings.max.bytes": (
        "tests/hostile/test_settings.py",
        "test_broker_settings_over_pybroker_broker_settings_max_bytes_are_refused",
    ),
    "log.index.size.max.bytes": (
        "tests/hostile/test_limits_set_low.py",
        "test_index_stays_within_the_brokers_limit_whatever_its_topic_allows",
    ),
    "pybroker.producer.ids.max.per.partition": (
        "tests/hostile/test_identities.py",
        "test_new_producer_ids_replace_the_oldest_ones_of_a_partition",
    ),
    "producer.id.expiration.ms": (
        "tests/storage/test_producers.py",
        "test_idle_producers_expire_unless_they_have_an_open_transaction",
    ),
    "pybroker.inter.broker.response.max.bytes": (
        "tests/broker/inter_broker/test_broker_link.py",
        "test_malformed_response_closes_the_connection",
    ),
    "max.request.partition.size.limit": (
        "tests/hostile/test_limits_set_low.py",
        "test_describe_topic_partitions_response_is_limited_and_has_a_cursor_to_the_rest",
    ),
}


def page() -> list[str]:
    return (ROOT / "docs" / "operator" / "limits.md").read_text(encoding="utf-8").splitlines()


def rows() -> list[str]:
    """The rows of the table of limits, as text."""
    table = "\n".join(page()).partition("## Bounds")[2].partition("\n## ")[0]
    return [line for line in table.splitlines() if line.startswith("| `")]


def test_page_fits_on_two_screens() -> None:
    assert len(page()) <= LINES
    assert [line for line in page() if len(line) > COLUMNS] == []


def test_each_limit_has_a_test_and_its_default_on_the_page() -> None:
    found = {row[1]: row[2] or "" for line in rows() if (row := ROW.fullmatch(line))}
    assert len(found) == len(rows())
    assert found == {name: BROKER_SETTINGS[name].default_text(embedded_store=True) or "" for name in TESTS}


@pytest.mark.parametrize("name", TESTS)
def test_each_test_that_the_limits_page_names_exists(name: str) -> None:
    path, test = TESTS[name]
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^ *(async )?def {test}\(", text, re.MULTILINE)
