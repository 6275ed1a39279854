"""The fixtures, the marker and the options of the pytest plugin, in runs of pytest."""

import re
import threading
from pathlib import Path

import pytest
from pybroker import Broker
from support.plugin_runs import run_inside


def test_each_test_gets_a_broker_of_its_own_and_shares_the_wider_ones(pytester: pytest.Pytester) -> None:
    tests = """
        SEEN = []
        def test_one(kafka_broker, kafka_broker_module, kafka_broker_session):
            SEEN.extend([kafka_broker, kafka_broker_module, kafka_broker_session])
            assert len({each.bootstrap_servers for each in SEEN}) == 3
            kafka_broker.append("t", b"x")
        def test_two(kafka_broker, kafka_broker_module, kafka_broker_session):
            assert kafka_broker.topics() == []
            assert not SEEN[0].is_running
            assert SEEN[1:] == [kafka_broker_module, kafka_broker_session]
    """
    pytester.makepyfile(test_a=tests, test_b="""
        import test_a
        def test_three(kafka_broker_module, kafka_broker_session):
            assert kafka_broker_module is not test_a.SEEN[1]
            assert kafka_broker_session is test_a.SEEN[2]
    """)  # fmt: skip
    run_inside(pytester).assert_outcomes(passed=3)


def test_topics_and_groups_are_unique_and_of_the_broker_in_use(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        SEEN = set()
        @pytest.mark.parametrize("odd", ["a/b ü", "a/b ü!", "x" * 300])
        def test_names(kafka_topic, kafka_group, kafka_broker_session, odd):
            assert kafka_topic in kafka_broker_session.topics()
            kafka_broker_session.append(kafka_topic, b"x")
            assert kafka_topic not in SEEN and kafka_group not in SEEN
            SEEN.update([kafka_topic, kafka_group])
        def test_without_a_broker(kafka_topic, request):
            assert request.getfixturevalue("kafka_broker").topics() == [kafka_topic]
        def test_first_a_group(kafka_group, kafka_topic, kafka_broker):
            assert kafka_broker.topics() == [kafka_topic]
    """)
    run_inside(pytester).assert_outcomes(passed=5)


def test_clock_of_the_broker_in_use_is_moved(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_days(kafka_clock, kafka_broker, kafka_topic):
            kafka_broker.append(kafka_topic, b"old")
            kafka_clock.advance(days=8)
            kafka_broker.append(kafka_topic, b"new")
            assert [each.value for each in kafka_broker.records(kafka_topic)] == [b"new"]
    """)
    run_inside(pytester).assert_outcomes(passed=1)


def test_faults_of_the_broker_in_use_are_taken_back(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_fault(kafka_broker_session, kafka_faults, kafka_topic):
            fault = kafka_faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=kafka_topic, times=1)
            kafka_broker_session.producer(retry_backoff_ms=1).send(kafka_topic, b"x").get(30)
            assert fault.fired == 1
            kafka_faults.hang("Produce")
        def test_none_is_left(kafka_broker_session, kafka_topic):
            assert kafka_broker_session.faults.all() == []
            kafka_broker_session.faults.hang("Produce")
            kafka_broker_session.reset()
            assert kafka_broker_session.faults.all() == []
    """)
    run_inside(pytester).assert_outcomes(passed=2)


def test_test_leaves_no_trouble_to_the_next_one_on_a_shared_broker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.fixture
        def late(kafka_broker_module):
            yield
            kafka_broker_module.faults.hang("*")
        def test_trouble(kafka_broker_module, kafka_topic, kafka_clock, late):
            kafka_clock.freeze(kafka_clock.clock_ms())
            kafka_broker_module.acts.disk.full()
            kafka_broker_module.faults.hang("Produce")
            kafka_broker_module.producer().send(kafka_topic, b"x")
        def test_none_is_left(kafka_broker_module, kafka_topic):
            assert kafka_broker_module.faults.all() == []
            assert not kafka_broker_module.acts.disk.has_trouble
            assert kafka_broker_module.clock._moves.wall._frozen_ms is None
            assert len(kafka_broker_module.append(kafka_topic, b"x")) == 1
    """)
    run_inside(pytester).assert_outcomes(passed=2)


def test_clients_whose_requests_hang_end_with_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import threading
        import pytest
        BEFORE = set(threading.enumerate())
        def test_kafka_python(kafka_broker, kafka_topic):
            kafka_broker.faults.hang("Produce")
            kafka_broker.producer().send(kafka_topic, b"x")
            kafka_broker.faults.all()[0].wait_fired()
        def test_no_thread_is_left():
            assert set(threading.enumerate()) <= BEFORE
        def test_paused_cluster(kafka_cluster, kafka_topic):
            producer = kafka_cluster.producer()
            kafka_cluster.pause(1)
            producer.send(kafka_topic, b"x")
        def test_no_thread_of_a_cluster_is_left():
            assert set(threading.enumerate()) <= BEFORE
        @pytest.mark.asyncio
        async def test_aiokafka(kafka_broker, kafka_topic, kafka_faults):
            producer = kafka_broker.aio_producer()
            await producer.start()
            fault = kafka_faults.hang("Produce")
            await producer.send(kafka_topic, b"x")
            await kafka_broker.aio.wait_fired(fault)
    """.replace("await kafka_broker.aio.wait_fired(fault)", "import asyncio; await asyncio.to_thread(fault.wait_fired)")
    )
    result = run_inside(pytester, "--durations=0", "-vv")
    result.assert_outcomes(passed=5)
    waits = [float(each) for each in re.findall(r"([0-9.]+)s teardown", result.stdout.str())]
    assert waits
    assert max(waits) < 4.5  # a client that is not released takes 5 s and more


def test_marker_sets_topics_and_settings_and_the_nearest_counts(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nkafka_settings =\n    num.partitions=5\n    message.max.bytes = 2000\n")
    pytester.makepyfile("""
        import pytest
        pytestmark = pytest.mark.kafka(settings={"num.partitions": 4, "compression.type": "lz4"}, topics={"all": 2})
        @pytest.mark.kafka(settings={"compression.type": "zstd"}, topics={"orders": 6})
        def test_settings(kafka_broker):
            texts = [kafka_broker.settings.text(name) for name in ("num.partitions", "message.max.bytes",
                                                                    "compression.type")]
            assert texts == ["4", "2000", "zstd"]
            assert kafka_broker.topics() == ["all", "orders"]
            assert len(kafka_broker.append("orders", *[b"x"] * 6)) == 6
            assert {each.partition for each in kafka_broker.records("orders")} == set(range(6))
        def test_module(kafka_broker_module):
            assert kafka_broker_module.topics() == ["all"]
    """)
    run_inside(pytester).assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("broker=3", "unknown argument 'broker'; known are brokers, settings, as_version, topics, mode"),
        ("3", "3 has no name; write brokers=, settings=, as_version=, topics=, mode="),
        ("brokers=3", "brokers=3 needs the fixture kafka_cluster"),
        ("brokers=0", "brokers=0 must be a number from 1 to 32"),
        ("mode='fork'", "mode='fork' must be 'thread' or 'process'"),
        ("topics=['t']", r"topics=\['t'\] must be a mapping of names to numbers of partitions"),
        ("settings={'a': None}", r"settings={'a': None} must be a mapping of names to values"),
        ("as_version=2.8", "as_version=2.8 must be a text, such as '2.8'"),
    ],
)
def test_wrong_argument_of_the_marker_is_an_error_at_collection(
    pytester: pytest.Pytester, arguments: str, why: str
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.kafka({arguments})\ndef test_it(kafka_broker): ...\n")
    result = run_inside(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert re.search(rf"ERROR: \S+::test_it: marker kafka: {why}", result.stderr.str())


@pytest.mark.parametrize(
    ("argument", "fixture", "level"),
    [
        *((each, "session", "test") for each in ("brokers=3", "settings={}", "as_version='2.8'", "topics={}")),
        ("mode='process'", "session", "module"),
        ("mode='process'", "module", "test"),
    ],
)
def test_marker_without_an_effect_on_a_shared_broker_is_refused(
    pytester: pytest.Pytester, argument: str, fixture: str, level: str
) -> None:
    marker = f"pytest.mark.kafka({argument})"
    where = {"test": f"@{marker}", "module": f"pytestmark = {marker}"}[level]
    pytester.makepyfile(f"import pytest\n{where}\ndef test_it(kafka_broker_{fixture}): ...\n")
    result = run_inside(pytester, "--collect-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    why = "needs the fixture kafka_cluster" if "brokers" in argument else f"has no effect on kafka_broker_{fixture}"
    assert f"{argument} {why}" in result.stderr.str()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("--kafka=nowhere", "--kafka=nowhere: must be pybroker, apache, or HOST:PORT of a running cluster"),
        ("--kafka=h:1,h:x", "--kafka=h:1,h:x: must be"),
        ("--kafka=apache", "--kafka=apache: .* contains no jar of ZooKeeper"),
    ],
)
def test_place_where_no_kafka_is_ends_the_run_with_a_reason(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: str, why: str
) -> None:
    monkeypatch.setenv("PYBROKER_KAFKA_LIBS", str(pytester.path))
    monkeypatch.setenv("JAVA_HOME", str(pytester.path))
    java = pytester.path / "bin" / "java"
    java.parent.mkdir()
    java.touch(0o700)
    result = run_inside(pytester, arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert re.search(f"ERROR: {why}", result.stderr.str())


def test_same_tests_run_on_another_cluster_and_skip_what_looks_inside(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.kafka(topics={"orders": 2})
        def test_clients(kafka_broker, kafka_topic):
            producer = kafka_broker.producer()
            for topic in (kafka_topic, "orders"):
                producer.send(topic, b"x").get(30)
            assert next(kafka_broker.consumer(kafka_topic)).value == b"x"
        @pytest.mark.kafka(topics={"orders": 3})
        def test_again(kafka_broker):
            with pytest.raises(Exception, match="exists"):
                kafka_broker.create_topic("orders")
        def test_helpers(kafka_broker, kafka_topic):
            assert kafka_broker.append(kafka_topic, b"x") == kafka_broker.records(kafka_topic)
        def test_inside(kafka_broker): kafka_broker.snapshot()
        @pytest.mark.parametrize("name", "acts kill settings start stop restart is_running reset".split())
        def test_broker_of_a_test_offers_its_parts(kafka_broker, name):
            getattr(kafka_broker, name)
        def test_clock(kafka_clock): ...
        def test_cluster(kafka_cluster): ...
        @pytest.mark.kafka(settings={"num.partitions": 2})
        def test_settings(kafka_broker): ...
    """)
    with Broker() as broker:
        broker.create_topic("of-the-cluster")
        result = run_inside(pytester, f"--kafka={broker.bootstrap_servers}", "-rs")
        result.assert_outcomes(passed=3, skipped=12)
        text = result.stdout.str()
        assert "snapshot needs a broker that the test starts, and --kafka names another cluster" in text
        assert "the marker's settings need a broker that the test starts, and --kafka names a running cluster" in text
        assert broker.topics() == ["of-the-cluster"]


def test_clients_of_each_kind_are_chosen_by_name_and_closed_after_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        MADE = []
        def test_default(kafka_broker_session, kafka_topic):
            producer = kafka_broker_session.producer(acks="all")
            producer.send(kafka_topic, b"x").get(30)
            admin = kafka_broker_session.admin({"client.id": "me"})
            assert type(admin).__module__.startswith("kafka.") and kafka_topic in admin.list_topics()
            MADE.append(producer)
        def test_they_were_closed(kafka_broker_session):
            assert MADE[0]._closed
        def test_confluent(kafka_broker, kafka_topic, kafka_group):
            producer = kafka_broker.producer({"acks": "all"}, client="confluent-kafka")
            producer.produce(kafka_topic, b"x")
            consumer = kafka_broker.consumer(kafka_topic, {"group.id": kafka_group}, client="confluent-kafka")
            assert consumer.poll(30).value() == b"x"
            assert kafka_topic in kafka_broker.admin(client="confluent-kafka").list_topics(timeout=30).topics
            with pytest.raises(Exception, match="'kafka' is not known; known are kafka-python, confluent-kafka"):
                kafka_broker.producer(client="kafka")
        def test_names_of_librdkafka(kafka_broker):
            assert kafka_broker.config({"a": 1}) == {"bootstrap.servers": kafka_broker.bootstrap_servers, "a": 1}
    """)
    run_inside(pytester).assert_outcomes(passed=4)
    run_inside(pytester, "-o", "kafka_client=librdkafka").stdout.fnmatch_lines(
        ["*kafka_client=librdkafka: must be kafka-python or confluent-kafka*"]
    )


def test_broker_answers_as_the_release_of_the_marker(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.kafka(as_version="1.1")
        def test_version(kafka_broker):
            admin = kafka_broker.admin(client="kafka-python")
            assert admin._manager.broker_version[:2] == (1, 1)
    """)
    run_inside(pytester).assert_outcomes(passed=1)


def test_process_of_its_own_is_killed_and_recovers(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.kafka(mode="process", topics={"t": 1})
        def test_kill(kafka_broker):
            kafka_broker.producer().send("t", b"x").get(30)
            before = kafka_broker.pid
            kafka_broker.kill()
            assert not kafka_broker.is_running
            kafka_broker.start()
            assert kafka_broker.pid != before
            assert next(kafka_broker.consumer("t")).value == b"x"
            assert [each.value for each in kafka_broker.records("t")] == [b"x"]
            with pytest.raises(RuntimeError, match="aio needs a broker in this process: not with mode="):
                kafka_broker.aio
    """)
    run_inside(pytester).assert_outcomes(passed=1)


def test_data_is_kept_when_asked_for(pytester: pytest.Pytester) -> None:
    pytester.makepyfile('def test_it(kafka_broker): kafka_broker.append("t", b"x")')
    result = run_inside(pytester, "--kafka-keep", f"--basetemp={pytester.path / 'kept'}")
    (line,) = (line for line in result.outlines if line.startswith("data of kafka_broker of "))
    assert (Path(line.rpartition(": ")[2]) / "t-0" / "00000000000000000000.log").stat().st_size > 0


@pytest.mark.parametrize("count", [8, pytest.param(100, marks=pytest.mark.long)])
def test_many_tests_with_a_broker_each_leave_nothing(pytester: pytest.Pytester, count: int) -> None:
    pytester.makepyfile(f"""
        import threading
        import pytest
        @pytest.mark.parametrize("number", range({count}))
        def test_it(kafka_broker, number):
            assert kafka_broker.topics() == []
            kafka_broker.append("t", b"x")
            assert [each.name[:17] for each in threading.enumerate()].count("pybroker-of-kafka") == 1
    """)
    before = set(threading.enumerate())
    run_inside(pytester).assert_outcomes(passed=count)
    assert set(threading.enumerate()) <= before
