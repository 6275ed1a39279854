"""Tests of the options for log directories."""

import pytest
from pybroker.client.given_options import OptionError
from pybroker.pipeline.options.log_options import log_options


def test_option_path_holds_one_or_several_paths() -> None:
    assert log_options({"path": "/a, /b"}).paths == ("/a", "/b")
    assert log_options({"PATH": '["/a,b"]'}).paths == ("/a,b",)


def test_options_select_partitions_of_log_directories() -> None:
    assert log_options({"path": "/a"}).wants("t", 0)
    assert not log_options({"path": "/a"}).wants("__consumer_offsets", 0)
    assert log_options({"path": "/a", "subscribe": "__consumer_offsets"}).wants("__consumer_offsets", 0)
    assert not log_options({"path": "/a", "subscribePattern": ".*"}).wants("__consumer_offsets", 0)
    assert log_options({"path": "/a", "subscribePattern": "log"}).wants("my-logs", 0)
    assert not log_options({"path": "/a", "subscribePattern": "^log"}).wants("my-logs", 0)
    assigned = log_options({"path": "/a", "assign": '{"t":[1]}'})
    assert assigned.wants("t", 1)
    assert not assigned.wants("t", 0)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "'path'"),
        ({"path": "[1"}, "'path' is not a valid JSON list"),
        ({"path": "/a", "startingOffsets": "earliest"}, "'startingOffsets'"),
        ({"path": "/a", "kafka.bootstrap.servers": "h:1"}, "'kafka.bootstrap.servers' has no effect"),
        ({"path": "/a", "kafka.isolation.level": "x"}, "'kafka.isolation.level'"),
        ({"path": "/a", "kafka.check.crcs": "x"}, "'kafka.check.crcs'"),
        ({"path": "/a", "subscribe": "t", "assign": '{"t":[1]}'}, "'assign' and 'subscribe'"),
    ],
)
def test_invalid_log_options_are_refused_by_name(given: dict[str, str], named: str) -> None:
    with pytest.raises(OptionError) as error:
        log_options(given)
    assert named in str(error.value)
