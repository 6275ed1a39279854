"""Which paths of nodes are valid."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.controller.tree.metadata_store import InvalidPathError, check_path

PARTS = st.one_of(st.sampled_from(["", ".", "..", "...", ".a", "a.", "a\n", "\0"]), st.text(max_size=3))


@given(st.sampled_from(["", "/"]), st.lists(PARTS, max_size=4))
def test_path_is_valid_when_it_has_a_slash_before_each_part_and_no_part_is_empty_or_dots(
    start: str, parts: list[str]
) -> None:
    path = start + "/".join(parts)
    inner = path[1:].split("/")
    is_valid = path == "/" or (path.startswith("/") and not {"", ".", ".."} & set(inner) and "\0" not in path)
    if is_valid:
        check_path(path)
    else:
        with pytest.raises(InvalidPathError):
            check_path(path)
