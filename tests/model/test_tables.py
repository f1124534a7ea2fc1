"""Tables of subscriptions: whatever form they come in, one table; what is wrong with a row stays with that row."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from rookery.errors import SubscriptionError
from rookery.model.subscriptions import Record
from rookery.model.tables import FAULT, checked_subscriptions, read_subscriptions

from .subscription_files import READABLE, Case, name_of

MOMENT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS = [
    {"subscription_id": "a", "where": "x > %0", "parameters": ["1"], "version": 1, "valid_from": None, "note": "n"},
    {"subscription_id": "b", "where": "TRUE", "parameters": None, "version": 2, "valid_from": MOMENT, "note": None},
]


def rows_of(source: Any, **options: Any) -> list[Any]:
    """Return the rows, a fault as (id, message)."""
    found = checked_subscriptions(read_subscriptions(source, **options))
    return [(one.subscription_id, one.message) if isinstance(one, SubscriptionError) else one for one in found]


def test_every_form_gives_one_table(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = pa.Table.from_pylist(ROWS)
    pyarrow.parquet.write_table(table, tmp_path / "r.parquet")
    with pa.OSFile(str(tmp_path / "stream.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    lines = [json.dumps(row | {"valid_from": row["valid_from"] and "2026-03-01T12:00:00Z"}) for row in ROWS]
    (tmp_path / "r.jsonl").write_text("\n".join(lines))
    (tmp_path / "r.csv").write_text(
        "subscription_id,where,parameters,version,valid_from,note\n"
        'a,x > %0,"[""1""]",1,,n\nb,TRUE,,2,2026-03-01T12:00:00Z,\n'
    )
    expected = read_subscriptions(table)
    assert expected.to_pylist() == ROWS
    assert expected.schema.field("valid_from").type == pa.timestamp("us", tz="UTC")
    forms: list[Any] = [tmp_path / name for name in ("r.parquet", "stream.arrow", "r.jsonl", "r.csv")]
    forms += [str(tmp_path / "r.csv"), [tmp_path / "r.csv"], ROWS, table.to_pydict(), table.to_batches()[0]]
    forms += [table.to_reader(), pandas.DataFrame(ROWS), polars.DataFrame(ROWS), expected]
    for form in forms:
        found = read_subscriptions(form)
        assert found.to_pylist() == ROWS, form
        assert found.drop_columns("note").equals(expected.drop_columns("note")), form
    micros = int(MOMENT.timestamp()) * 10**6
    assert rows_of(expected) == [Record("a", "x > %0", None, ("1",)), Record("b", "TRUE", version=2, valid_from=micros)]


@pytest.mark.parametrize("case", READABLE, ids=name_of)
def test_reading_twice_changes_nothing(case: Case, tmp_path: Path) -> None:
    once = read_subscriptions(case.write(tmp_path), id_type=case.asked)
    assert read_subscriptions(once).equals(once)
    assert rows_of(read_subscriptions(once)) == rows_of(once)
    assert (FAULT in once.column_names) == any(
        isinstance(one, tuple) and "given" not in one[1] for one in rows_of(once)
    )


def test_columns_of_ones_own_are_kept(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("subscription_id,where,severity\na,x > 0,007\nb,x > 0,\n")
    assert read_subscriptions(tmp_path / "r.csv")["severity"].to_pylist() == ["007", None]
    rows = [
        {"subscription_id": 1, "where": "", "tag": [1.5, {"a": 1}]},
        {"subscription_id": 2, "where": "", "tag": "b"},
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_subscriptions(tmp_path / "r.jsonl")["tag"].to_pylist() == ['[1.5, {"a": 1}]', '"b"']
    table = pa.table({"subscription_id": [1], "where": [""], "blob": pa.array([b"x"], pa.binary_view())})
    assert read_subscriptions(table).schema.field("blob").type == pa.binary_view()


def test_ids_as_asked() -> None:
    assert rows_of({"subscription_id": [7], "where": [""]}, id_type="string") == [Record("7", "")]
    assert rows_of({"subscription_id": ["07", "x"], "where": ["", ""]}, id_type="int") == [
        Record(7, ""),
        ("x", "the subscription_id is an integer, got 'x'"),
    ]
    assert rows_of([{"subscription_id": True, "where": ""}]) == [
        ("true", "the subscription_id is a string or an integer")
    ]
    for id_type, kind in ((None, pa.string()), ("int", pa.int64())):
        assert read_subscriptions([], id_type=id_type).schema.field("subscription_id").type == kind
    with pytest.raises(SubscriptionError, match="an id type is 'int' or 'string'"):
        read_subscriptions([], id_type="long")


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("valid_from", [datetime(2026, 1, 1), date(2026, 1, 1)], None),
        ("valid_from", ["2026-01-01", 5], "the valid_from is a date, or a date and time, got 5"),
        ("valid_to", ["", "0001-01-01T00:00:00+05:00"], "the valid_to '0001-01-01T00:00:00+05:00' lies outside"),
        ("version", [1, True], "the version is an integer, got True"),
        ("version", [2.0, 2.5], "the version is an integer, got 2.5"),
        ("version", [1, float("inf")], "the version is an integer, got inf"),
        ("parameters", [[1, None, True], [{"a": 1}]], "parameters are a list of values"),
        ("parameters", ["[0.10000000000000000001]", "7"], "parameters are a list of values"),
        ("topic", ["", "\ud800"], "the topic holds half a surrogate pair"),
        ("where", ["TRUE", "\ud800"], "the condition holds half a surrogate pair"),
        ("subscriber", ["me", 1], "the subscriber is a text, got 1"),
        ("cooldown", [1, float("nan")], "the cooldown is 0 or more seconds, got nan"),
        ("key", ["", b"x"], "the key is a text"),
        ("subscription_id", ["a", "\ud800"], "the subscription_id holds half a surrogate pair"),
    ],
)
def test_a_bad_value_is_the_fault_of_its_row(column: str, values: list[Any], message: str | None) -> None:
    source = {"subscription_id": ["a", "b"], "where": ["TRUE", "TRUE"], column: values}
    good, bad = rows_of(source)
    assert isinstance(good, Record)
    if message is None:
        assert isinstance(bad, Record)
    else:
        assert bad[0] == ("?" if column == "subscription_id" else "b")
        assert bad[1].startswith(message)


def test_parameters_keep_what_is_written() -> None:
    values = ['[0.10000000000000000001, true, "a b", null]', [1, False, date(2026, 1, 1)]]
    first, second = rows_of({"subscription_id": ["a", "b"], "where": ["", ""], "parameters": values})
    assert first.parameters == ("0.10000000000000000001", "TRUE", "a b", None)
    assert second.parameters == ("1", "FALSE", "2026-01-01")


def test_dates_past_the_calendar_are_faults() -> None:
    years = pa.array([0, 10**12], pa.timestamp("s"))
    table = pa.table({"subscription_id": ["a", "b"], "where": ["", ""], "valid_from": years})
    assert rows_of(table) == [
        Record("a", "", valid_from=0),
        ("b", "the valid_from lies outside the years 1 to 9999 in UTC"),
    ]


def test_runs_are_values() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x > 0", None]))
    table = pa.table({"subscription_id": ["a", "b", "c"], "where": runs})
    assert rows_of(table) == [Record("a", "x > 0"), Record("b", "x > 0"), ("c", "the condition is missing")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"id": ["a"], "where": [""]}, "needs the column 'subscription_id'"),
        ({"subscription_id": ["a"], "were": [""]}, "did you mean 'were'"),
        ({"subscription_id": ["a"], "where": ["", ""]}, "differ in length"),
        (pa.table([["a"], [""], [""]], names=["subscription_id", "where", "where"]), "names a column twice"),
        (pa.table({"subscription_id": ["a"], "where": [""], "version": [True]}), "'version' of the subscriptions is a"),
        (pa.table({"subscription_id": ["a"], "where": [""], "valid_to": [5]}), "is a timestamp or ISO 8601 text"),
        (pa.table({"subscription_id": ["a"], "where": [""], FAULT: ["x"]}), "is the reader's own"),
        (7, "not int"),
        ([7], "not list"),
    ],
)
def test_a_bad_table_is_refused(source: Any, message: str) -> None:
    with pytest.raises(SubscriptionError, match=message):
        read_subscriptions(source)


def test_a_condition_may_be_as_long_as_the_language_allows(tmp_path: Path) -> None:
    where = "x IN (" + ", ".join(map(str, range(40_000))) + ")"
    (tmp_path / "r.csv").write_text(f'subscription_id,where\na,"{where}"\n')
    assert len(where) > 131_072
    assert rows_of(tmp_path / "r.csv") == [Record("a", where)]
