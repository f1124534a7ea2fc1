"""Tables of subscriptions: the one way in for files, Arrow tables and DataFrames, whoever asks.

Rule 1: two steps. `read_subscriptions` brings whatever it is given to one table with the columns' own types;
`checked_subscriptions` gives its rows, each a subscription or what is wrong with it. The library, the commands, the
brokers' clients and Spark take both, so that a file has the same ids and the same faults everywhere.
Rule 2: what is wrong with one value is a fault of that subscription. It travels in the table's column `_fault`, beside
the good ones; only what is wrong with the whole table (no such column, a column of another type) is raised.
Rule 3: a condition that is missing is a fault, never "every event"; that is written TRUE or, where texts have a type
of their own (not in CSV), as an empty text.
Rule 4: columns that a subscription does not have are kept as they are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa

from rookery.errors import SubscriptionError
from rookery.model.dialects.rows import translated
from rookery.model.files import Columns, columns_of_rows, read_files
from rookery.model.subscription_columns import RECORD, Faults, extra_column, id_column, typed_column
from rookery.model.subscriptions import Record, check_dates

__all__ = ["FAULT", "TRIGGER_COLUMNS", "checked_subscriptions", "read_subscriptions"]

_LOG = logging.getLogger("rookery.model")

#: The columns that say when a stream reports a match.
TRIGGER_COLUMNS = ("key", "trigger", "cooldown")
#: The column in which a fault travels; `subscription_id` is the text of an id that could not be read.
FAULT = "_fault"
#: In the metadata of a table that was read: what was to be said of its columns is said.
_READ = {b"rookery": b"subscriptions"}
_FAULT_TYPE = pa.struct([("subscription_id", pa.string()), ("message", pa.string()), ("hint", pa.string())])


def read_subscriptions(source: Any, *, id_type: str | None = None, dialect: str | None = None) -> pa.Table:
    """Return subscriptions as one table.

    `source` is a path or several (CSV, TSV, JSON lines, Parquet, Arrow, or folders of these), an Arrow table, anything
    with `__arrow_c_stream__` (a pandas or Polars frame), a dict of columns or a list of dicts. Ids are of the type that
    they have there, in text files strings; `id_type` "int" or "string" says otherwise. Conditions are in the `dialect`
    given, or that of the column `dialect` (`dialects.py`), and come out as WHERE clauses.
    """
    if id_type not in (None, "int", "string"):
        raise SubscriptionError(f"an id type is 'int' or 'string', got {id_type!r}")
    found = translated(_columns(source), dialect)
    if not found.count and not found.columns:
        found = Columns({"subscription_id": [], "where": []}, 0)
    _check_names(list(found.columns), told=_is_read(source))
    faults: Faults = dict(found.faults)
    ids, texts = id_column(found, id_type, faults)
    made: dict[str, Any] = {name: typed_column(name, found, faults) for name in RECORD if name in found.columns}
    columns = {"subscription_id": ids}
    for name, column in found.columns.items():
        if name not in ("subscription_id", FAULT):
            columns[name] = made[name] if name in made else extra_column(column)
    if FAULT in found.columns:
        _earlier(found.columns[FAULT], texts, faults)
    if faults:
        rows = [
            {"subscription_id": texts.get(row), "message": faults[row][0], "hint": faults[row][1]}
            if row in faults
            else None
            for row in range(found.count)
        ]
        columns[FAULT] = pa.array(rows, _FAULT_TYPE)
    return pa.table(columns).replace_schema_metadata(_READ)


def checked_subscriptions(table: pa.Table) -> Iterator[Record | SubscriptionError]:
    """Yield each row of a table from `read_subscriptions`, as a subscription or as what is wrong with it."""
    names = (
        "subscription_id",
        "where",
        "topic",
        "parameters",
        "subscriber",
        "version",
        "valid_from",
        "valid_to",
        FAULT,
    )
    for batch in table.to_batches(max_chunksize=65_536):
        columns: list[Iterable[Any]] = [
            _plain(batch.column(name)) if name in batch.schema.names else repeat(None) for name in names
        ]
        for key, where, topic, parameters, subscriber, version, begin, end, fault in zip(*columns, strict=False):
            if fault is not None:
                name = fault["subscription_id"] if key is None else key
                yield SubscriptionError(fault["message"], subscription_id=name, hint=fault["hint"])
                continue
            try:
                check_dates(key, begin, end)
            except SubscriptionError as error:
                yield error
                continue
            values = None if parameters is None else tuple(parameters)
            yield Record(key, where, topic, values, subscriber, 1 if version is None else version, begin, end)


def _plain(column: pa.Array) -> list[Any]:
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()  # type: ignore[no-any-return]


def _columns(source: Any) -> Columns:
    if isinstance(source, str | Path):
        return read_files(source)
    if isinstance(source, Mapping):
        columns = {
            str(name): pa.chunked_array([one])
            if isinstance(one, pa.Array)
            else one
            if isinstance(one, pa.ChunkedArray)
            else list(one)
            for name, one in source.items()
        }
        counts = {len(one) for one in columns.values()}
        if len(counts) > 1:
            raise SubscriptionError(f"the columns differ in length: {', '.join(map(str, sorted(counts)))}")
        return Columns(columns, counts.pop() if counts else 0)
    if isinstance(source, list | tuple):
        if all(isinstance(one, Mapping) for one in source):
            return columns_of_rows(source)
        if all(isinstance(one, str | Path) for one in source):
            return read_files(source)
    try:
        if isinstance(source, pa.RecordBatch) or hasattr(source, "__arrow_c_stream__"):
            table = pa.table(source)
        else:
            table = pa.Table.from_batches([pa.record_batch(source)])
    except (TypeError, pa.ArrowException) as error:
        raise SubscriptionError(
            f"subscriptions are a file, a folder, an Arrow table or a DataFrame, not {type(source).__name__}: {error}"
        ) from error
    if len(set(table.column_names)) != len(table.column_names):
        raise SubscriptionError(f"the table names a column twice: {', '.join(table.column_names)}")
    return Columns(dict(zip(table.column_names, table.columns, strict=True)), table.num_rows)


def _is_read(source: Any) -> bool:
    return isinstance(source, pa.Table) and _READ.items() <= (source.schema.metadata or {}).items()


def _check_names(names: list[str], *, told: bool) -> None:
    known = ("subscription_id", *RECORD)
    others = [name for name in names if name not in known and name != FAULT]
    for needed in ("subscription_id", "where"):
        if needed not in names:
            near = get_close_matches(needed, others, n=1, cutoff=0.4)
            raise SubscriptionError(
                f"a table of subscriptions needs the column {needed!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"the columns are {', '.join(names)}",
            )
    for name in () if told else others:
        near = get_close_matches(name, [one for one in known if one not in names], n=1, cutoff=0.8)
        if near:
            _LOG.warning("the column %r of the subscriptions means nothing; did you mean %r?", name, near[0])


def _earlier(column: Any, texts: dict[int, str], faults: Faults) -> None:
    """Take over the faults of a table that was read before."""
    if not isinstance(column, pa.ChunkedArray) or column.type != _FAULT_TYPE:
        raise SubscriptionError(f"the column {FAULT!r} of a table of subscriptions is the reader's own: rename it")
    for row, fault in enumerate(column.to_pylist()):
        if fault is not None:
            faults[row] = fault["message"], fault["hint"]
            if fault["subscription_id"] is not None:
                texts[row] = fault["subscription_id"]
