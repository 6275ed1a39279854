"""Tests of the image without a container engine: build steps, program, health check and stop on this machine."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from pybroker.broker.commands.command_line import KAFKA_SCRIPTS
from pybroker.broker.commands.container.server_file import final_properties
from pybroker.config.http_listeners import http_listeners
from pybroker.config.load import load_config
from support.processes.container_process import ContainerProcess
from support.source_tree import PACKAGES
from support.time.patience import await_answer

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def instructions(name: str) -> list[str]:
    text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE))
    return re.findall(rf"^{name}\s+(.*)$", text, flags=re.MULTILINE)


def copy_context(target: Path) -> Path:
    """Copies the files that .dockerignore allows."""
    let_through = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in let_through:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / name, target / name)
    return target


def take_steps(directory: Path, **environment: str) -> Path:
    """Runs the RUN lines of the Dockerfile below a folder in place of /."""
    source, root = copy_context(directory / "src"), directory / "root"
    for step in instructions("RUN"):
        program, *arguments = step.split()
        assert Path(program).name == "image-build"
        command = [str(source / "scripts/image-build"), *arguments, str(root)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHON": sys.executable, **environment})
    return root


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of the image. Packages come from this test's own environment instead of pip."""
    here = sysconfig.get_path("purelib")
    directory = tmp_path_factory.mktemp("image")
    return take_steps(directory, PIP_NO_DEPS="1", PIP_NO_BUILD_ISOLATION="0", PYTHONPATH=here)


@pytest.fixture
def broker(image: Path) -> ContainerProcess:
    return ContainerProcess(
        json.loads(instructions("CMD")[-1]),
        image,
        {"PYTHONPATH": sysconfig.get_path("purelib"), "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0"},
    )


def test_container_does_not_run_as_root() -> None:
    (user,) = instructions("USER")
    assert re.fullmatch(r"[1-9][0-9]*:0", user)


def test_image_uses_the_oldest_supported_python() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["requires-python"].removeprefix(">=")
    bases = [base.split()[0] for base in instructions("FROM")]
    assert bases == [f"python:{version}-slim", f"python:{version}-slim", "broker", "broker"]


def test_only_the_target_test_has_the_test_kit() -> None:
    """Its settings, which reach the broker as they stand here, are accepted."""
    stages = re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]
    (stage,) = [stage for stage in stages if "TEST_KIT" in stage]
    assert stage.startswith("broker AS test\n")
    assert stages[-1] == "broker\n"
    given = dict(re.findall(r"(KAFKA_\w+)=(\S+)", stage))
    config = load_config(final_properties(None, given, "/var/lib/kafka/data"))
    assert config.boolean("pybroker.test.kit")
    (listener,) = http_listeners(config)
    assert (listener.host, listener.port) == (None, 8092)


def test_every_path_copied_by_the_dockerfile_is_in_the_build_context() -> None:
    copied = [line.split()[0] for line in instructions("COPY") if not line.startswith("--from")]
    assert copied == [".", "scripts/image-build"]
    assert "!scripts/image-build" in (ROOT / ".dockerignore").read_text().splitlines()


def test_image_holds_the_package_and_no_installer(image: Path) -> None:
    shown = subprocess.run(
        [image / "opt/pybroker/bin/pybroker", "--version"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": sysconfig.get_path("purelib")},
    )
    assert shown.stdout.startswith("pybroker ")
    assert not (image / "opt/pybroker/bin/pip").exists()
    (packages,) = (image / "opt/pybroker/lib").glob("python3.*/site-packages")
    modules = {path.relative_to(packages / "pybroker") for path in (packages / "pybroker").rglob("*.py")}
    assert modules == {path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")} | {
        Path("__init__.py"),
        Path("__main__.py"),
    }


def test_image_has_each_script_under_the_path_of_kafkas_image(image: Path) -> None:
    scripts = image / "opt/kafka/bin"
    assert {path.name for path in scripts.iterdir()} == {f"{name}.sh" for name in KAFKA_SCRIPTS}
    for path in scripts.iterdir():
        is_storage = path.name == "kafka-storage.sh"  # alone in Kafka, too, it knows no --version
        shown = subprocess.run(
            [path, "random-uuid" if is_storage else "--version"],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": sysconfig.get_path("purelib")},
        )
        assert re.fullmatch(r"[\w-]{22}\n" if is_storage else r"3\.9\.1\n", shown.stdout)


def test_any_user_in_group_root_can_write_the_brokers_directories(image: Path) -> None:
    for directory in ("etc/kafka/secrets", "etc/pybroker", "var/lib/kafka/data"):
        mode = (image / directory).stat().st_mode
        assert mode >> 3 & 7 == mode >> 6 & 7 == 7


def test_broker_starts_is_healthy_and_stops(image: Path, broker: ContainerProcess) -> None:
    volume = json.loads(instructions("VOLUME")[0])[0]
    with broker:
        assert broker.says(r"\[KafkaServer id=\d+\] started")
        assert (image / volume.lstrip("/") / "meta.properties").exists()
    assert broker.exit_code == 0
    assert (image / volume.lstrip("/") / ".kafka_cleanshutdown").exists()


def test_health_check_sends_a_request_to_the_broker(image: Path, broker: ContainerProcess) -> None:
    (check,) = instructions("HEALTHCHECK")
    options, _, command = check.partition(" CMD ")
    assert {option.split("=")[0] for option in options.split()} == {
        "--interval",
        "--timeout",
        "--start-period",
        "--retries",
    }
    assert "readyz" in json.loads(command)
    assert broker.health(json.loads(command)) != 0
    broker.environment["KAFKA_LISTENERS"] = f"PLAINTEXT://127.0.0.1:{broker.free_port()}"
    broker.environment["KAFKA_PYBROKER_HTTP_LISTENERS"] = f"HTTP://127.0.0.1:{broker.free_port()}"
    with broker:
        await_answer(lambda: broker.health(json.loads(command)), lambda code: code == 0, "the broker is healthy")
        os.kill(broker.pid, signal.SIGKILL)
        broker.wait()
        assert broker.health(json.loads(command)) == 1


@pytest.mark.long
def test_image_steps_work_with_packages_from_pip(tmp_path: Path) -> None:
    root = take_steps(tmp_path)
    settings = {"KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0"}
    with ContainerProcess(json.loads(instructions("CMD")[-1]), root, settings) as broker:
        assert broker.says("pybroker is ready")
    assert broker.exit_code == 0
