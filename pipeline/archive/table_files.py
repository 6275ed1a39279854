"""The files of a table on any file system that Spark reaches by Hadoop's classes: local disk, HDFS or object store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .commit_reader import Listed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_MOST_DIRECTORIES = 10_000
"""Created directories that are remembered."""


class RowGroup(NamedTuple):
    """A row group of a Parquet file, from its footer: number of rows, and minimum and maximum by column if known."""

    rows: int
    ranges: dict[str, tuple[int, int]]


class HadoopFiles:
    """Files under `root`, a path or URI; `given` is `root` as the caller wrote it. Works on the driver only.

    Each part of a Java class's name is a request to the JVM, so classes are looked up once.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        self.given = root
        self._jvm: Any = spark.sparkContext._jvm
        self._path_class = self._jvm.org.apache.hadoop.fs.Path
        self._content_of = self._jvm.org.apache.commons.io.IOUtils.toByteArray
        self._directories: set[str] = set()
        self._root = self._path_class(root)
        self._configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._system = self._root.getFileSystem(self._configuration)
        self._root = self._system.makeQualified(self._root)

    @property
    def root(self) -> str:
        """The root as a URI."""
        return str(self._root.toString())

    @property
    def local_path(self) -> str | None:
        """The root as a local path that is the same on all machines of the job; None on other file systems."""
        uri = self._root.toUri()
        return str(uri.getPath()) if uri.getScheme() == "file" else None

    def exists(self, path: str) -> bool:
        return bool(self._system.exists(self._path(path)))

    def list(self, path: str) -> Sequence[Listed]:
        if not self.exists(path):
            return []
        found = []
        prefix = self._root.toUri().getPath().rstrip("/") + "/"
        files = self._system.listFiles(self._path(path), True)
        while files.hasNext():
            status = files.next()
            path = status.getPath().toUri().getPath().removeprefix(prefix)
            found.append(Listed(path, status.getLen(), status.getModificationTime()))
        return sorted(found)

    def glob(self, pattern: str) -> Sequence[str]:
        """Returns the paths that match a pattern. The number of calls to the JVM does not depend on theirs."""
        found = self._system.globStatus(self._path(pattern))
        if not found:
            return []
        paths = self._jvm.org.apache.hadoop.fs.FileUtil.stat2Paths(found)
        listed = str(self._jvm.org.apache.commons.lang3.ArrayUtils.toString(paths))  # {path,path}
        return listed[1:-1].removeprefix(f"{self.root}/").split(f",{self.root}/")

    def read_text(self, path: str) -> str:
        if not self.exists(path):
            raise FileNotFoundError(f"{self.root}/{path}")
        stream = self._system.open(self._path(path))
        try:
            return bytes(self._content_of(stream)).decode()
        finally:
            stream.close()

    def row_groups(self, path: str, columns: Collection[str]) -> Sequence[RowGroup]:
        """Returns the row groups of a Parquet file; reads only the footer. `columns` must hold whole numbers."""
        hadoop = self._jvm.org.apache.parquet.hadoop
        file = hadoop.util.HadoopInputFile.fromPath(self._path(path), self._configuration)
        reader = hadoop.ParquetFileReader.open(file)
        try:
            return [_row_group(block, columns) for block in reader.getFooter().getBlocks()]
        finally:
            reader.close()

    def write_text(self, path: str, text: str) -> None:
        directory, slash, name = path.rpartition("/")
        unfinished = f"{directory}{slash}.{name}.unfinished"
        stream = self._system.create(self._path(unfinished), True)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        self.move(unfinished, path)

    def move(self, source: str, target: str) -> None:
        directory = target.rpartition("/")[0]
        if directory not in self._directories:
            self._system.mkdirs(self._path(directory) if directory else self._root)
            if len(self._directories) == _MOST_DIRECTORIES:
                self._directories.clear()
            self._directories.add(directory)
        if not self._system.rename(self._path(source), self._path(target)):
            self._directories.discard(directory)  # someone may have deleted it
            raise OSError(f"{self.root}: {source} can't be renamed to {target}")

    def delete(self, path: str) -> None:
        self._system.delete(self._path(path), True)

    def _path(self, path: str) -> Any:
        return self._path_class(self._root, path)


def _row_group(block: Any, columns: Collection[str]) -> RowGroup:
    ranges = {}
    for chunk in block.getColumns():
        name = chunk.getPath().toDotString()
        if name in columns and (statistics := chunk.getStatistics()).hasNonNullValue():
            ranges[name] = (statistics.genericGetMin(), statistics.genericGetMax())
    return RowGroup(block.getRowCount(), ranges)
