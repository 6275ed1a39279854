"""Tests that the wheel holds the same files as the tree, and that a checkout may have any folder name."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from support.source_tree import PACKAGES, ROOT


def files_in_the_tree() -> set[str]:
    modules = {str(path.relative_to(ROOT)) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    folders = (ROOT / "console" / "static", ROOT / "monitoring")
    data = {str(path.relative_to(ROOT)) for folder in folders for path in folder.rglob("*") if path.is_file()}
    return {f"pybroker/{name}" for name in modules | data | {"__init__.py", "__main__.py", "py.typed"}}


def test_every_folder_of_modules_is_a_package() -> None:
    modules = (name for name in files_in_the_tree() if name.endswith(".py"))
    folders = {ROOT / Path(module).relative_to("pybroker").parent for module in modules}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_wheel_and_tree_hold_the_same_modules(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "tests", "*.egg-info", "__pycache__", "build"))
    virtual_environment = source / "venv" / "lib" / "some_package"
    virtual_environment.mkdir(parents=True)
    (virtual_environment / "__init__.py").touch()
    wheels = tmp_path / "wheels"
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, source]
    subprocess.run([sys.executable, *map(str, command)], check=True, capture_output=True)
    (wheel,) = wheels.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == files_in_the_tree()


def test_checkout_with_an_unusual_name_loads_no_module_twice(tmp_path: Path) -> None:
    """Collects a test in a folder whose name is no Python identifier; every module is imported once."""
    clone = tmp_path / "tmp.x-1"
    shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".*", "*.egg-info", "build"))
    probe = clone / "tests" / "test_probe.py"
    probe.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "import pybroker.protocol.apis\n"
        "import pybroker.storage.log.log\n"
        "def test_probe():\n"
        "    files = [getattr(module, '__file__', None) for module in list(sys.modules.values())]\n"
        f"    packages = [f for f in files if f and {PACKAGES!r}.count(Path(f).parents[1].name)]\n"
        "    assert packages\n"
        "    assert len(packages) == len(set(packages)), packages\n"
        "    names = [name for name in sys.modules if name.endswith('storage.log.log')]\n"
        "    assert names == ['pybroker.storage.log.log'], names\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_probe.py"]
    done = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
