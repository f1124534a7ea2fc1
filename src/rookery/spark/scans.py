"""A DataFrame that is a bare scan of Parquet files: the workers read the files themselves, and no event crosses.

A DataFrame with a filter, a join or a limit does not show them in its list of files (spec, spark 10, promise 8). So
what counts is its plan: nothing but a relation of Parquet files, perhaps with fewer columns. And each file must hold
the columns that are read in the very types in which Spark hands them to Python; then Arrow reads the values that Spark
would. Whatever is otherwise (partition folders, options of the reader, old calendars, a type that Spark converts) is
not taken, with the reason.

Rule: what is not certain is Spark's to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import RookeryError
from rookery.model.storage import path_of, source_of
from rookery.spark.carriers import is_connect
from rookery.spark.files import RowGroup, groups_of, read_group, spark_parallelism, task_count
from rookery.spark.plans import MATCHING, READ, READ_COLUMN, PlanOffer
from rookery.spark.types import arrow_type_of
from rookery.spark.worker import MatchRows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["MatchScan", "Scan", "bare_scan"]

#: Files whose ends the driver reads to be certain; of more, Spark reads.
MOST_FILES = 2_000
#: Events that are matched at a time.
PIECE = 65_536
#: Settings under which Spark reads files otherwise than they are.
_TOLERANT = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles",
             "spark.sql.parquet.fieldId.read.enabled")  # fmt: skip
#: What a file says of itself whose dates are of an old calendar.
_OLD_CALENDARS = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


@dataclass(frozen=True, slots=True)
class Scan:
    """The row groups of a bare scan, dealt out to tasks, and the columns that are read."""

    columns: pa.Schema
    shares: tuple[tuple[RowGroup, ...], ...]

    @property
    def offer(self) -> PlanOffer:
        """What the plan costs."""
        rows = sum(group.rows for share in self.shares for group in share)
        spent = READ + READ_COLUMN * len(self.columns) + MATCHING
        return PlanOffer(
            spent, f"the events are a bare scan of Parquet files, {rows:,} rows in {len(self.shares)} tasks"
        )


def bare_scan(events: DataFrame, needed: Sequence[str]) -> Scan | PlanOffer:
    """Return what a bare scan reads, or why the DataFrame is none that workers may read."""
    if is_connect(events.sparkSession):
        return PlanOffer(reason="Spark Connect does not show what a DataFrame reads")
    why = _no_scan(events._jdf.queryExecution().analyzed())  # first: of most DataFrames that is all to be asked
    if why:
        return PlanOffer(reason=why)
    if any(str(events.sparkSession.conf.get(name, "false")).lower() == "true" for name in _TOLERANT):
        return PlanOffer(reason="this session reads files otherwise than they are")
    if events.storageLevel.useMemory or events.storageLevel.useDisk:
        return PlanOffer(reason="the events are cached")
    files = events.inputFiles()
    if not 0 < len(files) <= MOST_FILES:
        return PlanOffer(reason=f"{len(files):,} files, of which the driver reads the ends of at most {MOST_FILES:,}")
    try:
        wanted = pa.schema([(name, arrow_type_of(events.schema[name].dataType)) for name in needed])
        groups: list[RowGroup] = []
        for file in files:
            why = _unlike(file, wanted)
            if why:
                return PlanOffer(reason=why)
            groups += groups_of(path_of(file), {})
    except (RookeryError, pa.ArrowException, OSError, ValueError) as error:
        return PlanOffer(reason=f"the files are Spark's to read: {error}")
    groups.sort(key=lambda group: -group.rows)
    tasks = task_count(groups, spark_parallelism(events.sparkSession)) if groups else 1
    return Scan(wanted, tuple(tuple(groups[turn::tasks]) for turn in range(tasks)))


def _no_scan(plan: Any) -> str:
    """Say why a plan is no bare scan of Parquet files; nothing where it is one."""
    kind = plan.getClass().getSimpleName()
    while kind in ("Project", "SubqueryAlias"):
        if kind == "Project":
            each = plan.projectList()
            kinds = {each.apply(place).getClass().getSimpleName() for place in range(each.size())}
            if kinds != {"AttributeReference"}:
                return "the events are computed, not only read"
        plan = plan.child()
        kind = plan.getClass().getSimpleName()
    if kind != "LogicalRelation" or plan.relation().getClass().getSimpleName() != "HadoopFsRelation":
        return f"the events are no bare scan of files ({kind})"
    relation = plan.relation()
    if relation.fileFormat().getClass().getSimpleName() != "ParquetFileFormat":
        return "the files are no Parquet"
    if not relation.partitionSchema().isEmpty():
        return "some columns are in the names of folders"
    options = set(relation.options().keys().mkString("\n").split()) - {"path", "paths", "serialization.format"}
    if options or relation.location().getClass().getSimpleName() != "InMemoryFileIndex":
        return f"the reader has options of its own ({', '.join(sorted(options)) or 'a catalog'})"
    return ""


def _unlike(file: str, wanted: pa.Schema) -> str:
    """Say what a file holds otherwise than Spark hands it to Python; nothing where it is alike."""
    import pyarrow.parquet as pq

    held = pq.read_schema(source_of(path_of(file)))
    if any(name in (held.metadata or {}) for name in _OLD_CALENDARS):
        return f"{file}: its times are of an old calendar"
    for field in wanted:
        places = held.get_all_field_indices(field.name)
        if len(places) != 1 or held.field(places[0]).type != field.type:
            return f"{file}: its column {field.name} is not {field.type}"
    return ""


@dataclass(frozen=True, slots=True)
class MatchScan:
    """The task of a scan: its row groups, matched as `MatchRows` does."""

    scan: Scan
    matching: MatchRows

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match the row groups of the task's numbers."""
        yield from self.matching(self._events(batches))

    def _events(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for share in batch.column(0).to_pylist():
                for group in self.scan.shares[share]:
                    for whole in read_group(group, self.scan.columns, named=True):
                        for first in range(0, whole.num_rows, PIECE):
                            yield whole.slice(first, PIECE)
