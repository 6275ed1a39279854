"""Tests of the topic of dead letters, without Spark and without a broker."""

from typing import Any

import pytest
from pybroker.client.given_options import OptionError
from support.spark.gathered_rows import need_columns

need_columns()


@pytest.mark.parametrize("source", [{"subscribePattern": "events"}, {"Subscribe": "events, events-dead"}])
def test_topic_that_the_job_would_read_is_refused_for_its_dead_letters(source: dict[str, str]) -> None:
    from pybroker.pipeline.archive.dead_letter_topic import DeadLetterTopic

    spark: Any = None
    with pytest.raises(OptionError, match="the job reads the topic events-dead"):
        DeadLetterTopic(spark, source, "events-dead")
    DeadLetterTopic(spark, source, "failed")
