"""The OpenAPI document: its copy in docs/ is fresh, and it describes each parameter."""

from pybroker.views.openapi import openapi, openapi_text
from support.source_tree import ROOT


def test_the_file_in_docs_is_the_document() -> None:
    assert (ROOT / "docs" / "operator" / "openapi.json").read_text(encoding="utf-8") == openapi_text(), (
        "run: python -m pybroker.views.openapi docs/operator/openapi.json"
    )


def test_every_operation_has_a_name_of_its_own_and_describes_its_parameters() -> None:
    operations = [item["get"] for item in openapi()["paths"].values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    for operation in operations:
        assert operation["summary"]
        assert all(each["in"] == "path" or each["description"] for each in operation["parameters"])
