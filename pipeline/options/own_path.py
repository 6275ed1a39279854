"""Lets Spark's Python processes on the driver import this package from a file of `spark-submit --py-files`."""

from __future__ import annotations

import os
from zipimport import zipimporter

from pyspark.util import is_remote_only

__all__ = ["show_package_to_planners"]


def show_package_to_planners() -> None:
    """Lets the process that plans a stream find the driver's copies of `--py-files`, and this package's own zip file.

    It looks for them in a folder that Spark (4.3 too) leaves empty. On other machines these copies do not exist, and
    Spark tells the processes there about their own. No effect without a session, or on a client of Spark Connect.
    """
    if is_remote_only():
        return
    from pyspark import SparkContext, SparkFiles

    context = SparkContext._active_spark_context
    if context is None:
        return
    submitted = context.getConf().get("spark.submit.pyFiles") or ""
    found = [SparkFiles.get(os.path.basename(path)) for path in submitted.split(",") if path]
    loader: object = getattr(__spec__, "loader", None)
    if isinstance(loader, zipimporter):
        found.append(os.path.abspath(loader.archive))
    given = context.environment.get("PYTHONPATH", "").split(os.pathsep)
    if paths := [path for path in dict.fromkeys([*given, *found]) if path]:
        context.environment["PYTHONPATH"] = os.pathsep.join(paths)
