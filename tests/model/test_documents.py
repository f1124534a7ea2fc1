"""Documents in columns: what is missing is NULL, what a column cannot hold too."""

from __future__ import annotations

import pytest

import rookery
from rookery.errors import EventError
from rookery.model.documents import documents_of, layout


def test_fields_are_found_by_their_paths_and_rendered_as_texts() -> None:
    schema = rookery.Schema.from_dict({"a": "string", "b.c": "string", "b": {"c": "int64"}, "n": "float64"})
    rows = layout(
        [
            {"a": 1, "b": {"c": 5}, "n": "2.5"},
            {"a": True, "b.c": "x", "n": "no"},
            {"a": [1, "y"], "b": "z", "n": 3},
            {"a": None, "n": True},
            {"a": 1.5},
        ],
        schema,
    ).to_pylist()
    assert [row["a"] for row in rows] == ["1", "true", '[1,"y"]', None, "1.5"]
    assert [row["b.c"] for row in rows] == ["5", "x", None, None, None]
    assert [row["b"] for row in rows] == [{"c": 5}, None, None, None, None]
    assert [row["n"] for row in rows] == [2.5, None, 3.0, None, None]


def test_windows_events_have_their_fields_by_name() -> None:
    names = ("EventID", "Channel", "Provider_Name", "Image", "Param", "_event", "Level#number")
    schema = rookery.Schema.from_dict({name: "float64" if "#" in name else "string" for name in names})
    event = {
        "Event": {
            "System": {"EventID": 1, "Channel": "C", "Level": 4, "Provider": {"#attributes": {"Name": "P"}}},
            "EventData": {"Image": "cmd", "Gone": None},
            "UserData": {"Any": {"Param": "q"}},
        }
    }
    (row,) = layout([event], schema).to_pylist()
    assert [row[name] for name in names[:5]] == ["1", "C", "P", "cmd", "q"]
    assert row["Level#number"] == 4.0
    assert set(row["_event"].split("\x1e")) == {"1", "C", "4", "P", "cmd", "q"}
    older = {"Event": {"System": {"EventID": {"#text": 7, "#attributes": {"Qualifiers": 0}}}}}
    assert layout([older], schema).to_pylist()[0]["EventID"] == "7"


def test_lines_that_are_no_documents_are_named() -> None:
    assert list(documents_of(['{"a": 1}', "", " ", b'{"a": 2}'])) == [{"a": 1}, {"a": 2}]
    with pytest.raises(EventError, match="line 2 is no JSON:"):
        list(documents_of(["{}", "{"]))
    with pytest.raises(EventError, match="line 1 is no JSON object"):
        list(documents_of(["[1]"]))
