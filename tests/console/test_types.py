"""Test that TypeScript finds no error in the console's scripts. Their types stand in comments (JSDoc)."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.console.web_tools import TYPESCRIPT, fetched
from support.source_tree import ROOT

DECLARATIONS = ROOT / "tests" / "console" / "types"
"""Types of the vendored libraries, as far as the console uses them."""
OPTIONS = (
    "--noEmit",
    "--allowJs",
    "--checkJs",
    "--strict",
    "--noUnusedLocals",
    "--noUnusedParameters",
    *("--target", "es2023", "--module", "esnext", "--moduleResolution", "bundler"),
    *("--lib", "es2024,dom,dom.iterable"),
)


PROBE = 'import { counted } from "./format.js";\ncounted("three", "row");\n'


def test_only_the_wrong_type_in_a_probe_is_found(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node on PATH")
    shutil.copytree(ROOT / "console" / "static" / "js", tmp_path / "js")
    shutil.copytree(DECLARATIONS, tmp_path / "vendor")
    (tmp_path / "js" / "probe.js").write_text(PROBE)
    command = [node, str(fetched(TYPESCRIPT)), *OPTIONS, "js/main.js", "js/probe.js"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout.splitlines()
    assert [line.split(":")[:2] for line in found] == [["js/probe.js(2,9)", " error TS2345"]], found
