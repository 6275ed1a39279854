"""Public reports about Kafka, its clients and libraries, each with the tests that fail if pybroker has the same fault.

Two reports have no test of ours: CVE-2023-44981 is about ZooKeeper, and CVE-2024-37568 about a library that is not
used.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]

REPORTS = {
    # PLAIN and SCRAM with a forged authorization id act as another user.
    "CVE-2017-12610": (
        "broker/security/test_plain.py:test_forged_authorization_id_is_refused",
        "broker/security/test_scram.py:test_forged_authorization_id_is_refused",
        "broker/security/test_oauth_bearer.py:test_forged_authorization_id_is_refused",
    ),
    # A fetch with the id of a replica disturbs replication.
    "CVE-2018-1288": (
        "broker/apis/access/test_denials.py:test_fetch_with_a_replica_id_needs_the_right_of_brokers_whatever_it_may_read",
    ),
    # A crafted produce request passes the rights of transactions.
    "CVE-2018-17196": (
        "broker/apis/access/test_denials.py:test_transactional_batch_without_an_id_is_refused_also_where_a_template_decodes",
    ),
    # Secrets in logs and responses.
    "CVE-2019-12399": ("hostile/test_secrets.py:test_no_secret_is_in_the_log_the_responses_or_the_printed_settings",),
    "CVE-2026-33558": ("hostile/test_secrets.py:test_no_secret_is_in_the_log_the_responses_or_the_printed_settings",),
    "CVE-2026-24308": ("config/test_config.py:test_a_secret_with_a_bad_name_never_shows_its_value",),
    # Secrets are compared in a time that depends on them.
    "CVE-2021-38153": (
        "broker/security/test_constant_time.py:test_secrets_are_not_compared_by_operators",
        "broker/security/test_login_timing.py:test_unknown_user_takes_as_long_as_a_wrong_password",
    ),
    # Sizes and counts of strangers make the broker allocate memory.
    "CVE-2022-34917": (
        "broker/security/test_login_gate_states.py:test_claimed_sizes_and_counts_allocate_nothing",
        "hostile/test_logins.py:test_a_frame_over_the_limit_for_logins_closes_the_connection_before_it_arrives",
    ),
    "CVE-2026-111108": (
        "broker/security/test_login_gate_states.py:test_only_three_requests_are_ever_decoded",
        "hostile/test_frames.py:test_array_with_a_huge_announced_length_takes_no_memory",
    ),
    "CVE-2026-111115": (
        "hostile/test_frames.py:test_compact_array_with_a_huge_announced_length_takes_no_memory",
        "hostile/test_identities.py:test_header_with_too_many_tagged_fields_closes_its_connection",
    ),
    # Login modules of JNDI and LDAP run code.
    "CVE-2023-25194": ("config/test_jaas.py:test_bad_text_is_refused_without_showing_secrets",),
    "CVE-2025-27818": ("config/test_jaas.py:test_bad_text_is_refused_without_showing_secrets",),
    "CVE-2025-27819": ("config/test_jaas.py:test_bad_text_is_refused_without_showing_secrets",),
    # Sizes in a Snappy stream are not checked.
    "CVE-2023-34455": (
        "protocol/records/test_compression.py:test_snappy_payload_with_an_impossible_size_is_refused_before_allocation",
        "protocol/records/test_compression.py:test_broken_snappy_chunk_is_corrupt",
    ),
    # ACLs of a resource are lost when one of them is removed.
    "CVE-2024-27309": (
        "controller/acls/test_acl_tree.py:test_writers_at_once_lose_no_rule_and_revive_none",
        "controller/acls/test_acl_tree.py:test_first_and_last_entry_create_and_delete_the_node",
    ),
    # Settings of clients read files and the environment.
    "CVE-2024-31141": (
        "config/test_jaas.py:test_bad_text_is_refused_without_showing_secrets",
        "config/test_config.py:test_password_that_names_another_place_is_refused",
    ),
    # The final nonce of SCRAM is not compared as a whole.
    "CVE-2024-56128": ("broker/security/test_scram.py:test_final_nonce_must_end_with_the_whole_nonce",),
    # A URL of a client makes the broker read files and call other servers.
    "CVE-2025-27817": (
        "broker/security/test_jwks.py:test_other_urls_are_refused",
        "broker/security/test_jwks.py:test_url_must_be_among_the_allowed_ones",
        "broker/security/test_jwks_download.py:test_redirect_is_not_followed",
    ),
    # Any token is accepted, or its signature is not checked without keys.
    "CVE-2026-33557": (
        "broker/security/test_signed_tokens.py:test_each_wrong_claim_is_refused",
        "broker/security/test_broker_oauth.py:test_only_tokens_signed_by_a_key_of_the_issuer_log_in",
    ),
    "CVE-2026-110985": (
        "broker/security/test_signed_tokens.py:test_token_is_refused_without_keys",
        "broker/security/test_broker_oauth.py:test_a_file_without_keys_refuses_the_start",
    ),
    # A client obeys any number of iterations.
    "CVE-2026-10143": (
        "protocol/client/test_sasl.py:test_more_iterations_than_the_login_allows_are_refused",
        "broker/inter_broker/test_link_login.py:test_another_broker_cannot_keep_the_event_loop_busy_by_many_iterations",
    ),
    # A token chooses a weaker check.
    "CVE-2022-29217": ("broker/security/test_signed_tokens.py:test_public_key_is_not_taken_for_the_secret_of_an_hmac",),
    "CVE-2026-48526": (
        "broker/security/test_signed_tokens.py:test_token_with_another_algorithm_is_refused",
        "broker/security/test_signed_tokens.py:test_key_bound_to_one_algorithm_checks_no_other",
    ),
    # The lifetime of a session is wrong, or a session with an expired token never ends.
    "KAFKA-9241": ("broker/security/test_login_gate.py:test_lifetime_is_the_shorter_of_setting_and_credential",),
    "KAFKA-13848": ("broker/security/test_login_gate.py:test_expired_credential_does_not_give_a_session_without_end",),
    # One side speaks TLS and the other does not.
    "KAFKA-4090": (
        "broker/security/tls/test_sockets.py:test_plain_client_is_closed_without_a_byte",
        "broker/network/test_protocol_sniffing.py:test_clients_of_other_protocols_are_recognised_by_their_first_bytes",
    ),
    "librdkafka#4995": (
        "broker/network/test_encrypted_listener.py:test_each_cause_is_logged_once_for_a_host_and_what_it_sent",
    ),
    # Clients with wrong passwords come again at once.
    "KIP-306": (
        "hostile/test_logins.py:test_a_storm_of_wrong_logins_does_not_stop_other_clients",
        "hostile/test_logins.py:test_a_connection_whose_failure_is_delayed_counts_for_the_limits_of_connections",
    ),
    # TLS connections linger or leak.
    "uvloop#565": ("hostile/test_many_connects.py:test_connects_of_every_kind_leave_nothing_behind",),
}


@pytest.mark.parametrize("report", REPORTS)
def test_tests_of_each_report_exist(report: str) -> None:
    for name in REPORTS[report]:
        path, _, function = name.partition(":")
        tree = ast.parse((TESTS / path).read_text())
        functions = {each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)}
        assert function in functions, name
