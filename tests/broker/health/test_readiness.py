"""The reasons for which a broker is not ready."""

from pybroker.broker.health.readiness import Readiness, ReadinessParts


def parts(*, running: bool = False, ending: bool = False, failed: bool = False) -> ReadinessParts:
    return ReadinessParts(lambda: running, lambda: ending, lambda: failed, lambda: None)


def test_starting_broker_tells_its_step_and_the_recovered_share() -> None:
    starting = parts()
    readiness = Readiness(starting)
    assert readiness.reasons() == ["the broker is starting"]
    starting.step = lambda: "ZooKeeper"
    assert readiness.reasons() == ["the start waits for ZooKeeper"]
    starting.recovered_share = lambda: 0.379
    assert readiness.reasons() == ["recovering 37 %"]


def test_running_broker_is_ready_when_it_is_registered_and_has_a_directory() -> None:
    running = parts(running=True)
    readiness = Readiness(running)
    assert readiness.reasons() == [
        "the broker is not registered in the cluster",
        "no log directory is online",
    ]
    running.is_registered, running.online_directories = lambda: True, lambda: 1
    assert readiness.reasons() == []


def test_broker_that_stops_or_has_failed_says_so() -> None:
    assert Readiness(parts(ending=True)).reasons() == ["the broker is stopping"]
    assert Readiness(parts(running=True, failed=True)).reasons()[0] == "the broker cannot go on; its log says why"
