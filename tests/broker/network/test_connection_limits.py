"""Tests of the decisions which connections are admitted, without sockets."""

from pybroker.broker.network.connection_limits import Admission, ConnectionLimits, LimitSettings

HOST, OTHER = "10.0.0.1", "10.0.0.2"


def limits(*listeners: str, **settings: object) -> ConnectionLimits:
    made = ConnectionLimits(LimitSettings(**settings))  # type: ignore[arg-type]
    for name in listeners or ("A",):
        made.add_listener(name)
    return made


def fill(made: ConnectionLimits, listener: str, host: str, count: int, now_s: float = 0.0) -> None:
    for _ in range(count):
        assert made.decide(listener, host, now_s) is Admission.ADMIT
        made.add(listener, host, now_s)


def test_address_over_max_connections_per_ip_is_refused_and_others_are_admitted() -> None:
    made = limits(max_connections_per_ip=2)
    fill(made, "A", HOST, 2)
    assert made.decide("A", HOST, 0) is Admission.REFUSE
    assert made.decide("A", OTHER, 0) is Admission.ADMIT
    made.remove("A", HOST)
    assert made.decide("A", HOST, 0) is Admission.ADMIT


def test_override_replaces_max_connections_per_ip_for_its_address() -> None:
    made = limits(max_connections_per_ip=1, max_connections_per_ip_overrides={HOST: 3, "::1": 0, "::2": -1})
    fill(made, "A", HOST, 3)
    assert made.decide("A", HOST, 0) is Admission.REFUSE
    assert made.decide("A", "0:0:0:0:0:0:0:1", 0) is Admission.REFUSE
    assert made.decide("A", "::2", 0) is Admission.REFUSE
    fill(made, "A", OTHER, 1)
    assert made.decide("A", OTHER, 0) is Admission.REFUSE


def test_new_connections_wait_over_the_max_connections_of_the_broker() -> None:
    made = limits(max_connections=2)
    fill(made, "A", HOST, 2)
    assert made.decide("A", OTHER, 0) is Admission.WAIT
    made.remove("A", HOST)
    assert made.decide("A", OTHER, 0) is Admission.ADMIT


def test_listener_over_its_limit_makes_only_its_own_new_connections_wait() -> None:
    made = limits("A", "B", max_connections_by_listener={"A": 1})
    fill(made, "A", HOST, 1)
    assert made.decide("A", HOST, 0) is Admission.WAIT
    assert made.decide("B", HOST, 0) is Admission.ADMIT


def test_closed_connection_frees_its_place_on_the_listener() -> None:
    made = limits("A", "B", max_connections_by_listener={"A": 2})
    fill(made, "A", HOST, 2)
    made.remove("A", HOST)
    fill(made, "A", HOST, 1)
    assert made.decide("A", HOST, 0) is Admission.WAIT


def test_broker_over_max_connections_is_admitted_and_an_idle_client_is_closed() -> None:
    made = limits("CLIENTS", "BROKERS", max_connections=1, inter_broker_listener="BROKERS")
    fill(made, "CLIENTS", HOST, 1)
    assert made.decide("CLIENTS", HOST, 0) is Admission.WAIT
    assert made.decide("BROKERS", HOST, 0) is Admission.ADMIT_AND_CLOSE_IDLE


def test_brokers_have_no_priority_when_there_is_a_single_listener() -> None:
    made = limits("BROKERS", max_connections=1, inter_broker_listener="BROKERS")
    fill(made, "BROKERS", HOST, 1)
    assert made.decide("BROKERS", HOST, 0) is Admission.WAIT


def test_connections_are_admitted_at_the_creation_rate() -> None:
    made = limits(max_creations_per_s=10)
    fill(made, "A", HOST, 11)
    assert made.decide("A", HOST, 0) is Admission.WAIT
    wait_s = made.rate_wait_s("A", 0)
    assert 0.05 < wait_s <= 0.1 + 1e-9
    assert made.decide("A", HOST, wait_s + 1e-6) is Admission.ADMIT
    admitted = 0
    for step in range(1000):  # ten seconds
        while made.decide("A", HOST, step / 100) is Admission.ADMIT:
            made.add("A", HOST, step / 100)
            admitted += 1
    assert 95 <= admitted <= 101


def test_burst_after_a_quiet_time_is_limited_to_one_second_of_the_creation_rate() -> None:
    made = limits("A", "B", max_creations_per_s=8, max_creations_per_s_by_listener={"B": 4})
    for now_s in (1e6, 1e6 + 3600):  # the clock runs longer than the broker
        fill(made, "A", HOST, 9, now_s)
        assert made.decide("A", HOST, now_s) is Admission.WAIT
    for now_s in (1e6 + 7200, 1e6 + 10_800):
        fill(made, "B", HOST, 5, now_s)
        assert made.decide("B", HOST, now_s) is Admission.WAIT


def test_creation_rate_of_a_listener_delays_only_its_own_connections() -> None:
    made = limits("A", "B", max_creations_per_s_by_listener={"A": 10})
    fill(made, "A", HOST, 11)
    assert made.decide("A", HOST, 0) is Admission.WAIT
    assert made.rate_wait_s("A", 0) > 0 == made.rate_wait_s("B", 0)
    fill(made, "B", HOST, 30)
    assert made.decide("A", HOST, 0.11) is Admission.ADMIT


def test_brokers_are_limited_only_by_the_creation_rate_of_their_listener() -> None:
    rates = {"max_creations_per_s": 8, "max_creations_per_s_by_listener": {"BROKERS": 16}}
    made = limits("CLIENTS", "BROKERS", inter_broker_listener="BROKERS", **rates)
    fill(made, "CLIENTS", HOST, 9)
    assert made.decide("CLIENTS", HOST, 0) is Admission.WAIT
    fill(made, "BROKERS", HOST, 17)
    assert made.decide("BROKERS", HOST, 0) is Admission.WAIT


def test_connections_of_brokers_do_not_use_the_creation_rate_of_clients() -> None:
    made = limits("CLIENTS", "BROKERS", max_creations_per_s=8, inter_broker_listener="BROKERS")
    fill(made, "BROKERS", HOST, 30)
    fill(made, "CLIENTS", HOST, 9)
    assert made.decide("CLIENTS", HOST, 0) is Admission.WAIT


def test_excess_counts_the_connections_above_a_lowered_limit() -> None:
    made = limits(max_connections=5)
    fill(made, "A", HOST, 4)
    assert made.excess == 0
    made.settings = LimitSettings(max_connections=3)
    assert made.excess == 1


def test_address_counts_no_connections_after_its_last_one_closes() -> None:
    made = limits(max_connections_per_ip=2)
    fill(made, "A", HOST, 2)
    assert made.decide("A", HOST, 0) is Admission.REFUSE
    made.remove("A", HOST)
    made.remove("A", HOST)
    assert made.total == 0
    fill(made, "A", HOST, 1)
    assert made.decide("A", HOST, 0) is Admission.ADMIT
