"""Tests of the ranges and topics of an archive's micro-batches, without Spark."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.given_options import OptionError
from pybroker.pipeline.archive.batch_ranges import NO_VALUE, archive_options, check_ranges
from pybroker.pipeline.archive.manifest import DataFile, ManifestError, PartitionRows


@pytest.mark.parametrize("named", [{"subscribe": f"a,{NO_VALUE}"}, {"assign": f'{{"{NO_VALUE}": [0]}}'}])
def test_topic_whose_directory_would_mean_null_is_refused_at_the_start_of_an_archive(named: dict[str, str]) -> None:
    servers = {"kafka.bootstrap.servers": "127.0.0.1:1"}
    with pytest.raises(OptionError, match=rf"^the topic {NO_VALUE} can't be archived, because Spark reads .* as null$"):
        archive_options(servers | named)
    archive_options(servers | {"subscribe": f"a,{NO_VALUE}x"})
    archive_options(servers | {"subscribePattern": ".*"})


def test_files_of_a_topic_whose_directory_would_mean_null_are_not_committed() -> None:
    """A pattern may match such a topic later."""
    files = [DataFile(f"data/{topic}", topic, 1, (PartitionRows(0, 2, 5, 6),)) for topic in ("t", NO_VALUE)]
    ranges = {TopicPartition(file.topic, 0): (5, 7) for file in files}
    check_ranges("batch-0", files[:1], ranges)
    with pytest.raises(ManifestError, match=rf"^batch-0: the topic {NO_VALUE} can't be archived"):
        check_ranges("batch-0", files, ranges)
