"""Where the subscriptions of a pipeline come from: files, a table, a DataFrame, or an Arrow table in memory.

A source answers two questions. `read()`: what are the records now? `fingerprint()`: a short sign that changes whenever
they may have changed, cheap enough to ask at every micro-batch. Files can be asked by any worker, so a stream that
reads its rules from files sees an edit at the very next micro-batch. A table or a DataFrame can only be asked by the
driver, which polls it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import PipelineError, RookeryError, SubscriptionError
from rookery.model.datasets import Paths, dataset_sign
from rookery.model.storage import absolute, paths_of
from rookery.model.tables import read_subscriptions
from rookery.spark.compat import table_of
from rookery.spark.edits import EditFolder, Taken, edited, taken
from rookery.spark.jobs import job_description
from rookery.spark.names import catalog_name
from rookery.spark.rules import CompiledRules, Reading, check_dates, compile_rules

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rookery import Schema

__all__ = ["FileRules", "FrameRules", "MemoryRules", "RuleSource", "Subscriptions"]


class FileRules:
    """Records in files, and the edits of a folder; may be read on any worker that sees the same file system."""

    anywhere = True

    def __init__(
        self, paths: Paths, *, id_type: str | None = None, dialect: str | None = None, edits: str | Path | None = None
    ) -> None:
        self.id_type, self.dialect = id_type, dialect
        self.paths = tuple(str(path.resolve()) for path in paths_of(paths))
        self.edits = None if edits is None else EditFolder(absolute(edits), dialect)

    def read(self, names: Sequence[str] | None = None) -> pa.Table:
        """Read the records after all edits, or after those in the files of these names."""
        records = read_subscriptions(self.paths, id_type=self.id_type, dialect=self.dialect)
        if self.edits is None:
            return records
        names = self.edits.names() if names is None else names
        id_type = records.schema.field("subscription_id").type
        return edited(records, self.edits.read(names, id_type)) if names else records

    def fingerprint(self) -> str:
        """Sign a table by its version, files by name, size and what their file system says of a change."""
        return self._files() if self.edits is None else self.taken(self.edits.names()).fingerprint()

    def taken(self, names: Sequence[str]) -> Taken:
        """Return how far the source is read with the edits of these names."""
        return taken(self._files(), names)

    def _files(self) -> str:
        return blake2b(dataset_sign(self.paths, error=SubscriptionError).encode(), digest_size=16).hexdigest()

    def __str__(self) -> str:
        return ", ".join(self.paths)


class FrameRules:
    """Records in a Spark table or DataFrame; read by the driver, afresh at each call."""

    anywhere = False

    def __init__(
        self, spark: SparkSession, *, table: str | None = None, frame: DataFrame | None = None,
        id_type: str | None = None, dialect: str | None = None,
    ) -> None:  # fmt: skip
        self.spark, self.table, self.frame = spark, table, frame
        self.id_type, self.dialect = id_type, dialect

    def read(self) -> pa.Table:
        """Collect the records: a rule set is small beside the events."""
        if self.table is not None:
            self._check_table()
            self.spark.catalog.refreshTable(self.table)
        frame = self.frame if self.table is None else self.spark.table(self.table)
        assert frame is not None
        with job_description(self.spark, f"rules of {self}"):
            return read_subscriptions(table_of(frame), id_type=self.id_type, dialect=self.dialect)

    def fingerprint(self) -> str:
        """Sign a table by its version or its files, where they are to be seen; else by all that it holds."""
        place = self._location()
        if place is not None:
            with contextlib.suppress(RookeryError, OSError):
                return blake2b(dataset_sign(place).encode(), digest_size=16).hexdigest()
        return MemoryRules(self.read()).fingerprint()

    def _check_table(self) -> None:
        if not self.spark.catalog.tableExists(self.table):
            raise PipelineError(f"there is no table {self.table!r} in the catalog")

    def _location(self) -> str | None:
        """Return where the files of the table are; None for a view or a DataFrame."""
        if self.table is None:
            return None
        self._check_table()
        try:
            told = {row[0]: row[1] for row in self.spark.sql(f"describe table extended {self.table}").collect()}
        except Exception:
            self._check_table()  # dropped in between
            raise
        return told.get("Location") or None

    def __str__(self) -> str:
        return self.table or "a DataFrame"


class MemoryRules:
    """Records in memory: fixed until they are replaced by another object."""

    anywhere = True

    def __init__(self, table: Any) -> None:
        self.table = read_subscriptions(table)

    def read(self) -> pa.Table:
        """Return the records."""
        return self.table

    def fingerprint(self) -> str:
        """Sign the content, independent of how it is cut into chunks."""
        sink = pa.BufferOutputStream()
        whole = self.table.combine_chunks()
        with pa.ipc.new_stream(sink, whole.schema) as writer:
            writer.write_table(whole)
        return blake2b(sink.getvalue(), digest_size=16).hexdigest()

    def __str__(self) -> str:
        return f"{self.table.num_rows} records in memory"


RuleSource = FileRules | FrameRules | MemoryRules


class Subscriptions:
    """The standing subscriptions of a pipeline: a source, and what was read from it last."""

    def __init__(self, source: RuleSource) -> None:
        self.source = source
        self._read: pa.Table | None = None
        self._compiled: tuple[str, CompiledRules] | None = None

    @classmethod
    def files(
        cls, *paths: str | Path, id_type: str | None = None, dialect: str | None = None,
        edits: str | Path | None = None,
    ) -> Subscriptions:  # fmt: skip
        """Take the records from files or folders: CSV, TSV, JSON lines, Parquet or Arrow.

        The ids of text files are strings unless `id_type` is "int". The conditions are in the `dialect` given or in
        that of the column `dialect`: "sigma", or the language itself. `edits` is a folder of edits (`write_edits`).
        """
        return cls(FileRules(paths, id_type=id_type, dialect=dialect, edits=edits))

    @classmethod
    def table(
        cls, spark: SparkSession, name: str, *, id_type: str | None = None, dialect: str | None = None
    ) -> Subscriptions:
        """Take the records from a table of Spark's catalog."""
        return cls(FrameRules(spark, table=name, id_type=id_type, dialect=dialect))

    @classmethod
    def named(
        cls, spark: SparkSession, text: str, *, id_type: str | None = None, dialect: str | None = None,
        edits: str | Path | None = None,
    ) -> Subscriptions:  # fmt: skip
        """Take the records from what a text names: `table:ops.rules` is a table of Spark's catalog, else a path."""
        table = catalog_name(text)
        if table is None:
            return cls.files(text, id_type=id_type, dialect=dialect, edits=edits)
        if edits is not None:
            raise PipelineError("a folder of edits goes with rules in files: a table of the catalog is edited itself")
        return cls.table(spark, table, id_type=id_type, dialect=dialect)

    @classmethod
    def dataframe(cls, frame: DataFrame) -> Subscriptions:
        """Take the records from a DataFrame."""
        return cls(FrameRules(frame.sparkSession, frame=frame))

    @classmethod
    def arrow(cls, table: Any) -> Subscriptions:
        """Take the records from an Arrow table, or a pandas or Polars frame."""
        return cls(MemoryRules(table))

    @classmethod
    def of(cls, rules: Any) -> Subscriptions:
        """Take what a caller may hand in as rules: this class, a path, an Arrow table or a DataFrame of any kind."""
        if isinstance(rules, Subscriptions):
            return rules
        if isinstance(rules, str | Path):
            return cls.files(rules)
        if hasattr(rules, "sparkSession"):
            return cls.dataframe(rules)
        if hasattr(rules, "__arrow_c_stream__"):
            return cls.arrow(rules)
        raise PipelineError(
            f"rules must be Subscriptions, a path, an Arrow table or a DataFrame, not {type(rules).__name__}"
        )

    def records(self) -> pa.Table:
        """Return the records as they were read last, or read them."""
        if self._read is None:
            self._read = self.source.read()
        return self._read

    def compiled(self, schema: Schema, reading: Reading | None = None) -> CompiledRules:
        """Return the records compiled against a schema; the last one is kept, for the next job over the same events."""
        if reading is not None:
            check_dates(self.records(), reading)
        key = f"{schema.to_dict()} {reading is not None and reading.folded}"
        if self._compiled is None or self._compiled[0] != key:
            self._compiled = key, compile_rules(self.records(), schema, reading=reading)
        return self._compiled[1]

    def refresh(self) -> Subscriptions:
        """Read the records again at the next use."""
        self._read = self._compiled = None
        return self

    def __repr__(self) -> str:
        return f"Subscriptions({self.source})"
