"""Tests of the functions that Spark calls with values, without Spark."""

import pyarrow as pa
import pytest
from pybroker.pipeline.values.arrow_values import TOO_LARGE
from pybroker.pipeline.values.value_columns import _arrow_function, _row_function
from pybroker.pipeline.values.wire_format import DecodeError
from pyspark.sql.types import IntegerType, MapType, StringType, StructField, StructType


class Decoder:
    """Decodes digits to a number and to a map with it; other values are errors."""

    type = StructType(
        [StructField("n", IntegerType()), StructField("m", MapType(StringType(), IntegerType()), nullable=True)]
    )

    def decode(self, data: bytes) -> dict[str, object]:
        if not data.isdigit():
            raise DecodeError("no digits")
        return {"n": int(data), "m": {"n": 1}}


VALUES = [b"7", None, b"x", b"%d" % (1 << 31)]


def test_function_of_arrays_and_function_of_rows_give_the_same() -> None:
    found = _arrow_function(Decoder(), True)(pa.array(VALUES, pa.binary())).to_pylist()
    assert found == [
        {"value": {"n": 7, "m": [("n", 1)]}, "error": None},
        {"value": None, "error": None},
        {"value": None, "error": "no digits"},
        {"value": None, "error": TOO_LARGE},
    ]
    of_rows = _row_function(Decoder(), True)
    rows = [of_rows(None if value is None else bytearray(value)) for value in VALUES]
    assert rows == [({"n": 7, "m": {"n": 1}}, None), *((None, each["error"]) for each in found[1:])]


@pytest.mark.parametrize("value", [b"x", b"%d" % (1 << 31)])
def test_each_function_fails_if_errors_are_not_kept(value: bytes) -> None:
    with pytest.raises(DecodeError):
        _row_function(Decoder(), False)(value)
    with pytest.raises(DecodeError):
        _arrow_function(Decoder(), False)(pa.array([value], pa.binary()))
