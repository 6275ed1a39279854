"""Groups of test files that run in one process, because what one of them has made saves the others much time."""

__all__ = ["scope_of"]

_RULES = "rules of the house"
_GROUPS = {
    "tests/pipeline/": "pipeline",
    "tests/test_pages.py": _RULES,
    "tests/test_tidy.py": _RULES,
    "tests/test_wording.py": _RULES,
}
"""The group of each file whose path begins like this. A Spark session of `tests/pipeline` takes 10 s of CPU to start,
and its first queries take several times as long as later ones. The rules of the house read the syntax trees of the
whole repository, which take 10 s of CPU to make.
"""


def scope_of(node_id: str) -> str:
    """Returns the file, or the name of the group of files, whose tests run in the same process as this test."""
    file = node_id.partition("::")[0]
    return next((group for beginning, group in _GROUPS.items() if file.startswith(beginning)), file)
