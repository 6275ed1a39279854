"""Tests that a session whose package is a submitted zip file tells Spark's Python processes about it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pybroker.pipeline.jobs.py_files_command import write_archive

PROGRAM = """
import os
from types import SimpleNamespace
from pyspark import SparkConf, SparkContext
from pybroker.pipeline import PybrokerDataSource, PybrokerLogDataSource

conf = SparkConf(loadDefaults=False)
context = SimpleNamespace(environment={"PYTHONPATH": "/of/the/user"}, getConf=lambda: conf)
PybrokerDataSource.name()
SparkContext._active_spark_context = context
for source in (PybrokerDataSource, PybrokerLogDataSource):
    source.name()
print(context.environment["PYTHONPATH"])
"""


def test_registered_source_puts_the_zip_of_its_package_on_the_path_of_python_processes_once(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    file = tmp_path / "pybroker.zip"
    write_archive(file)
    environment = {**os.environ, "PYTHONPATH": str(file)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (f"/of/the/user{os.pathsep}{file}", "")
