"""The tools from npm with which tests look at the console's pages: axe-core and TypeScript."""

import subprocess
from pathlib import Path

import pytest
from support.source_tree import ROOT

CACHE = ROOT / ".cache" / "web-tools"
AXE = CACHE / "axe-core-4.14.1" / "axe.min.js"
TYPESCRIPT = CACHE / "typescript-5.9.3" / "lib" / "tsc.js"


def fetched(tool: Path) -> Path:
    """Returns the file of a tool. Skips the test when npm's registry can't be reached."""
    if not tool.is_file():
        done = subprocess.run([ROOT / "scripts" / "vendor-web", "--tools"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"needs {tool.name} from npm's registry: {done.stderr[-200:]}")
    return tool
