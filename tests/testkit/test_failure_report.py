"""The report on a failed test shows the state of its brokers."""

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
