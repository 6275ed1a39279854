"""The report on a failed test shows the state of its brokers."""

import logging
import re

import pytest
from support.plugin_runs import run_inside

TEST = r"""
import logging
import pytest

def test_before(kafka_broker_session):
    kafka_broker_session.append("before", b"x")
    logging.getLogger("pybroker.test").warning("a line of another test")

@pytest.mark.kafka(topics={"orders": 2})
def test_it(kafka_broker):
    kafka_broker.append("orders", b"a", b"b", b"c")
    consumer = kafka_broker.consumer("orders", group_id="g\x1b[31m", client_id="c\n" + "x" * 300)
    next(consumer)
    consumer.commit()
    logging.getLogger("pybroker.test").warning("line %s", "one\x1b[2J\ntwo")
    assert False
"""
SECTIONS = r"""
-+ kafka: log of the brokers -+
TIME WARNING line one\x1b[2J\ntwo
-+ kafka_broker: topics -+
orders-0: offsets 0 to 2
orders-1: offsets 0 to 1
__consumer_offsets-0: offsets 0 to NUMBER
-+ kafka_broker: groups -+
g\x1b[31m: Stable, generation NUMBER, 1 members
    members: c\nXXX…
    orders-0: committed NUMBER, lag NUMBER
    orders-1: committed NUMBER, lag NUMBER
    TIME rebalance: member c\nXXX…
-+ kafka_broker: last requests -+
TIME ApiVersions v4 TOOK, SIZE, client c\nXXX…
"""


def plain(text: str) -> str:
    """The text without what differs from run to run."""
    text = re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", text)
    text = re.sub(r"\d+\.\d ms, \d+ bytes(, answer \d+ bytes)?", "TOOK, SIZE", text)
    text = re.sub(r"(?<=generation )\d+|(?<=committed )\d+|(?<=lag )\d+", "NUMBER", text)
    text = re.sub(r"(?<=__consumer_offsets-0: offsets 0 to )\d+", "NUMBER", text)
    return re.sub(r"x{100,}.*?…", "XXX…", text)


def test_report_on_a_failed_test_shows_log_topics_groups_and_requests(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST)
    result = run_inside(pytester, "--show-capture=all", "-p", "no:logging")
    result.assert_outcomes(passed=1, failed=1)
    text = plain(result.stdout.str())
    for line in SECTIONS.strip().splitlines():
        pattern = line if line.startswith("-+") else re.escape(line)
        assert re.search(f"^{pattern}$", text, re.MULTILINE), f"{line}\n\n{text}"
    titles = re.findall(r"^-+ (kafka.*?) -+$", text, re.MULTILINE)
    assert titles == ["kafka: log of the brokers", *(f"kafka_broker: {each}" for each in
                      ("topics", "groups", "last requests"))]  # fmt: skip
    assert "another test" not in text
    assert max(map(len, result.outlines)) < 300


def test_report_says_that_a_killed_broker_does_not_run(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        def test_it(kafka_broker_module, kafka_topic):
            kafka_broker_module.kill()
            assert False
        def test_without_a_broker():
            assert False
    """)
    result = run_inside(pytester)
    result.stdout.fnmatch_lines(["*kafka_broker_module: state*", "the broker does not run"])
    assert result.stdout.str().count("kafka_broker_module: state") == 1


LOGGING_TEST = r"""
import logging

def test_it(kafka_broker, kafka_broker_module, kafka_topic, caplog):
    del kafka_broker_module
    logging.getLogger("pybroker").info("info of pybroker")
    logging.getLogger("pybroker.test").warning("warning of pybroker")
    kafka_broker.kill()
    kafka_broker.restart()
    assert [each.getMessage() for each in caplog.records if each.threadName == "MainThread"] == ["warning of pybroker"]
    assert not [each for each in caplog.records if each.levelno < logging.WARNING]
    with caplog.at_level(logging.DEBUG, "pybroker"):
        logging.getLogger("pybroker").debug("debug of pybroker")
    assert caplog.records[-1].getMessage() == "debug of pybroker"
    assert False

def test_other(kafka_broker_module):
    kafka_broker_module.restart()
    assert False

def test_without_a_line_of_others(kafka_broker, request):
    other = request.config.stash[__import__("pybroker.testkit.plugin", fromlist="x")._BROKERS]._open
    other["kafka_broker_module"].restart()
    assert False
"""


def test_report_shows_the_log_from_info_on_of_the_brokers_that_the_test_uses(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LOGGING_TEST)
    before = logging.getLogger("pybroker").level, logging.getLogger("pybroker").propagate
    result = run_inside(pytester)
    assert (logging.getLogger("pybroker").level, logging.getLogger("pybroker").propagate) == before
    result.assert_outcomes(failed=3)
    texts = re.findall(r"-+ kafka: log of the brokers -+\n(.*?)\n-", result.stdout.str() + "\n-", re.DOTALL)
    starts = [len(re.findall("INFO loaded", text)) for text in texts]
    assert starts == [3, 1, 1]  # those of other brokers are left out
    for line in ("INFO info of pybroker", "WARNING warning of pybroker", "DEBUG debug of pybroker"):
        assert line in texts[0]


def test_report_has_a_bound(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("""
        import pytest
        @pytest.mark.kafka(topics={"many": 100})
        def test_it(kafka_broker):
            for number in range(80):
                kafka_broker.admin if number else kafka_broker.consumer().topics()
            assert False
    """)
    lines = run_inside(pytester).outlines
    assert sum(line.startswith("many-") for line in lines) == 60
    assert "… more lines are left out" in lines
