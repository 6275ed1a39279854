"""How pytest finds and loads the plugin of an installed pybroker."""

import tomllib

import pytest
from support.plugin_runs import WITHOUT
from support.source_tree import ROOT

TEST = """
import sys

def loaded():
    return {name for name in sys.modules if name.partition(".")[0] == "pybroker"}

def test_without_a_broker():
    assert loaded() == {"pybroker", "pybroker.testkit", "pybroker.testkit.plugin"}

def test_with_a_broker(kafka_broker):
    rewritten = {name for name in loaded() if "Rewriting" in type(sys.modules[name].__spec__.loader).__name__}
    assert rewritten <= {"pybroker", "pybroker.testkit", "pybroker.testkit.plugin"}
"""


def test_entry_point_loads_the_plugin_alone_and_leaves_the_package_as_it_is(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel lists its files. pytest would rewrite the assertions of all of them."""
    entry_points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]
    installed = pytester.mkdir("installed")
    information = installed / "pybroker-9.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: pybroker\nVersion: 9\n")
    texts = (f"{name} = {value}\n" for name, value in entry_points.items())
    (information / "entry_points.txt").write_text(f"[pytest11]\n{''.join(texts)}")
    (information / "RECORD").write_text("pybroker/__init__.py,,\npybroker/testkit/plugin.py,,\n")
    monkeypatch.setenv("PYTHONPATH", str(installed))
    pytester.makepyfile(TEST)
    arguments = (*WITHOUT, "-o", "asyncio_default_fixture_loop_scope=function")
    pytester.runpytest_subprocess(*arguments).assert_outcomes(passed=2)
