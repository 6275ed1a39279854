"""Tests of the parts of a mirror's map of offsets, without Spark."""

from support.spark.gathered_rows import need_columns

need_columns()


def test_map_has_few_parts_and_every_micro_batch_in_one_of_them() -> None:
    from pybroker.pipeline.mirror.map_parts import WIDTH, current_parts, merged_part, next_merges, parts_named

    names: set[str] = set()
    written = 0
    batches = WIDTH**3
    for batch_id in range(batches):
        names.add(f"batch={batch_id:020d}")
        there = parts_named(names)
        current = current_parts(there)
        for number, parts in enumerate(next_merges(current, batch_id)):
            if number == 0:
                names -= {part.name for part in set(there).difference(current)}
            written += sum(part.last - part.first + 1 for part in parts)
            names.add(merged_part(parts).name)
        assert len(names) <= 5 * WIDTH
    parts = current_parts(parts_named(names))
    assert [number for part in parts for number in range(part.first, part.last + 1)] == list(range(batches))
    assert written <= 3 * batches, "each run is written once for each size of parts"


def test_micro_batch_that_may_be_written_again_is_not_merged() -> None:
    from pybroker.pipeline.mirror.map_parts import WIDTH, MapPart, next_merges

    parts = [MapPart(number, number) for number in range(WIDTH)]
    assert list(next_merges(parts, before=WIDTH - 1)) == []
    assert list(next_merges(parts, before=WIDTH)) == [parts]


def test_parts_may_have_gaps_and_other_directories_are_no_parts() -> None:
    from pybroker.pipeline.mirror.map_parts import MapPart, current_parts, parts_named

    names = [MapPart(9, 9).name, "batch=7", "_temporary", MapPart(2, 2).name, MapPart(0, 5).name, MapPart(0, 0).name]
    assert current_parts(parts_named(names)) == [MapPart(0, 5), MapPart(9, 9)]
