"""Fixtures of the metadata store's suite; its asserts explain themselves as those of test files do."""

import pytest

pytest.register_assert_rewrite("support.in_process.metadata_store_suite")

from support.in_process.metadata_store_suite import store  # noqa: E402

__all__ = ["store"]
