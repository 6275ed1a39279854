"""The JSON of views: equal to the fields of the dataclasses, valid by the OpenAPI document, the same in pieces."""

import json
from dataclasses import asdict, dataclass
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.views.clients import Client, Clients
from pybroker.views.failures import Failure, Misdirected
from pybroker.views.json_text import in_pieces, to_json
from pybroker.views.openapi import openapi
from pybroker.views.resources import RESOURCES
from pybroker.views.source import Source

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
# A client chooses names; Python's str can hold a half of a surrogate pair, which UTF-8 cannot express.
st.register_type_strategy(str, st.text(max_size=20) | st.sampled_from(["\ud800", "</script>", "\x00", "\u2028"]))

VIEWS = [Failure, Misdirected, *dict.fromkeys(resource.view for resource in RESOURCES)]


def lists_for_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: lists_for_tuples(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [lists_for_tuples(each) for each in value]
    return value


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_written_with_all_its_fields_in_ascii_and_fits_the_schema(view: type) -> None:
    document = openapi()
    schema = {"$ref": f"#/components/schemas/{view.__name__}", "components": document["components"]}
    if view.__name__ not in document["components"]["schemas"]:
        pytest.fail(f"{view.__name__} is not described")
    validator = jsonschema_rs.Draft202012Validator(schema)

    @settings(max_examples=8)
    @given(st.from_type(view))
    def check(value: Any) -> None:
        text = to_json(value)
        assert text.isascii()
        read = json.loads(text)
        assert read == lists_for_tuples(asdict(value))
        shown = json.loads(text.replace(b"\\ud800", b"?"))
        validator.validate(shown)

    check()


@pytest.mark.parametrize("count", [0, 1, 15, 16, 17, 100])
def test_a_document_in_pieces_is_the_document_at_once(count: int) -> None:
    clients = [
        Client(
            client_id=f"client-{number}",
            principal="User:a",
            software=None,
            host="::1",
            connections=1,
            requests=2,
            bytes_in=3,
            bytes_out=4,
            throttle_ms=5,
            last_seen_ms=6,
        )
        for number in range(count)
    ]
    source = Source(api=1, broker_id=1, cluster_id="abc", time_ms=2)
    document = Clients(source=source, connections=9, items=tuple(clients))
    pieces = list(in_pieces(document))
    assert b"".join(pieces) == to_json(document)
    assert max(map(len, pieces)) <= 16 * 200


@dataclass(frozen=True, slots=True)
class Ratio:
    value: float


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_json_cannot_express_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json(Ratio(value))
