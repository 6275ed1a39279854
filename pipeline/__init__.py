"""Spark data sources for Kafka topics and log directories, and jobs built on them.

    from pybroker.pipeline import PybrokerDataSource, PybrokerLogDataSource
    spark.dataSource.register(PybrokerDataSource)      # format "pybroker": any Kafka broker
    spark.dataSource.register(PybrokerLogDataSource)   # format "pybroker-log": log directories

Needs `pip install pybroker[spark]`. The broker imports nothing from this package. PySpark is imported only when one of
the two names is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .options.spark_needed import TOO_OLD

if TYPE_CHECKING:
    # By their whole names: mypy also takes this folder for the parent of tests/pipeline, which has the same name.
    from pybroker.pipeline.log_directories.log_data_source import PybrokerLogDataSource
    from pybroker.pipeline.topics.data_source import PybrokerDataSource

__all__ = ["PybrokerDataSource", "PybrokerLogDataSource"]

_MODULES = {
    "PybrokerDataSource": "topics.data_source",
    "PybrokerLogDataSource": "log_directories.log_data_source",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_MODULES[name]}", __name__), name)
    except ModuleNotFoundError as error:
        if error.name == "pyspark.sql.datasource":
            raise ImportError(TOO_OLD) from None
        raise
