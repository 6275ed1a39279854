"""Tests of the plan of a query on log directories."""

import json

import pytest
from pybroker.client.given_options import OptionError
from pybroker.pipeline.log_directories.log_segments import segment_tasks
from pybroker.pipeline.options.log_options import log_options
from support.logs.kafka_directories import LOGDIRS

PATHS = [str(LOGDIRS / name / "data") for name in ("kafka-3.9", "ibp-2.8")]


def topics_of(**options: str) -> set[str]:
    tasks = segment_tasks(log_options({"path": json.dumps(PATHS), **options}))
    return {task.topic_partition.topic for task in tasks}


def test_named_topics_may_be_in_different_log_directories() -> None:
    named = {"golden1-plain", "golden1-v0"}
    assert topics_of(subscribe=",".join(named)) == named


def test_named_topic_that_no_log_directory_has_is_an_error() -> None:
    with pytest.raises(OptionError) as error:
        topics_of(subscribe="golden1-plain,nosuch")
    assert str(error.value) == f"Option 'subscribe': there is no topic nosuch in {', '.join(PATHS)}"


def test_named_partition_that_no_log_directory_has_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"^Option 'assign': there is no partition golden1-plain-77 in /"):
        topics_of(assign='{"golden1-plain": [0, 77]}')


def test_pattern_may_match_no_topic() -> None:
    assert topics_of(subscribePattern="^nosuch") == set()
