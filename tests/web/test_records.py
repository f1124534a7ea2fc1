"""Records: what is written can be read, and what does not fit is refused with a reason."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import RunError
from rookery.web import Recorder, records
from rookery.web.records import Record, decode, encode
from rookery.web.runs import RunTail, measure

KINDS = {kind.__struct_config__.tag: kind for kind in get_args(Record)}
TEXT = st.text(max_size=20)
WHOLE = st.integers(0, 2**53)
EVENTS = st.builds(
    records.EventRecord,
    at=WHOLE,
    id=TEXT,
    topic=TEXT,
    point=st.lists(st.floats(0, 1), max_size=4).map(tuple),
    zone=TEXT,
    matched=WHOLE,
    values=st.dictionaries(
        TEXT, st.none() | st.booleans() | WHOLE | TEXT | st.floats(allow_nan=False, allow_infinity=False)
    ),
)
OTHERS = st.one_of(
    st.builds(records.ParticipantRecord, at=WHOLE, id=TEXT, name=TEXT, island=TEXT, contacts=WHOLE, gone=st.booleans()),
    st.builds(records.EdgeRecord, at=WHOLE, writer=TEXT, reader=TEXT, source=TEXT, target=TEXT, gone=st.booleans()),
    st.builds(records.BatchRecord, at=WHOLE, query=TEXT, number=WHOLE, rows=WHOLE, seconds=st.floats(0, 1e6)),
    st.builds(
        records.SubscriptionRecord, at=WHOLE, id=TEXT | st.integers(-(2**60), 2**60), where=TEXT, gone=st.booleans()
    ),
)


@given(EVENTS | OTHERS)
def test_what_is_written_is_read_again(record: Record) -> None:
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == record


@given(
    st.binary(max_size=200) | st.recursive(TEXT | WHOLE, st.lists, max_leaves=5).map(lambda it: json.dumps(it).encode())
)
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(RunError):
        decode(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"kind": "sparrow", "at": 1}, "sparrow"),
        ({"kind": "note", "text": "no time"}, "at"),
        ({"kind": "note", "at": -1, "text": ""}, ">= 0"),
        ({"kind": "traffic", "at": 1, "protocol": "simple", "octets": -5}, "octets"),
        ({"kind": "participant", "at": 1, "id": "x" * 201}, "200"),
        ({"kind": "zone", "at": 1, "id": "0", "lower": [0.0] * 33, "upper": [1.0]}, "lower"),
        ({"kind": "run", "at": 1, "version": 2}, "version 2"),
    ],
)
def test_a_line_that_does_not_fit_says_why(line: dict[str, Any], reason: str) -> None:
    with pytest.raises(RunError, match=reason):
        decode(json.dumps(line).encode())


def test_the_document_lists_every_kind_and_field() -> None:
    text = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
    for name, kind in KINDS.items():
        (row,) = [line for line in text.splitlines() if line.startswith(f"| `{name}` |")]
        for field in msgspec.structs.fields(kind):
            assert field.name == "at" or f"`{field.name}`" in row, f"{name}.{field.name} is not in docs/page.md"


def test_the_program_of_the_document_runs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "page.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    exec(compile(program, "docs/page.md", "exec"), {})


def test_a_recorder_refuses_what_a_reader_would() -> None:
    with pytest.raises(RunError, match="200"):
        Recorder(clock=lambda: 1).write(records.ParticipantRecord(at=1, id="x" * 300))


def test_a_listener_gets_what_a_reader_of_the_file_gets(tmp_path: Path) -> None:
    heard: list[Record] = []
    path = tmp_path / "run.jsonl"
    with Recorder(path, title="t", listener=heard.append, clock=lambda: 7) as recorder:
        recorder.write(records.EventRecord(at=8, id="e", values={"odd": object, "tuple": (1, 2)}))
    assert [decode(line) for line in path.read_bytes().splitlines()] == heard
    assert (measure(path).records, measure(path).first, measure(path).last) == (2, 7, 8)


def test_a_bad_line_is_named_by_its_number_and_a_cut_one_is_the_end(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode(records.NoteRecord(at=1, text="one")) + b'{"kind": "note", "at"')
    assert measure(path).records == 1
    path.write_bytes(encode(records.NoteRecord(at=1, text="one")) + b"nonsense\n")
    with pytest.raises(RunError, match="line 2"):
        measure(path)
    path.write_bytes(b"")
    with pytest.raises(RunError, match="holds no records"):
        measure(path)


def test_a_tail_follows_several_processes_and_counts_bad_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    heard: list[Record] = []
    rejected: list[str] = []
    tail = RunTail(path, feed=heard.append, reject=rejected.append)
    assert not tail.read(), "a file that is not there yet is waited for"
    program = (
        "import sys; from pathlib import Path; from rookery.web import Recorder, records\n"
        "with Recorder(Path(sys.argv[1]), title=sys.argv[2]) as recorder:\n"
        "    for n in range(200): recorder.write(records.NoteRecord(at=n, text=sys.argv[2] * 50))\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, path, name], env={**os.environ}) for name in ("ab", "cd")
    ]
    assert [writer.wait(600) for writer in writers] == [0, 0]
    with path.open("ab") as file:
        file.write(b"\x00 no record\n" + encode(records.NoteRecord(at=1, text="half"))[:-3])
        file.flush()
        tail.read()
        assert (len(heard), len(rejected)) == (402, 1)
        file.write(b'f"}\n')
    tail.read()
    assert (len(heard), len(rejected)) == (402, 2), "the rest made no record of the half"
    path.write_bytes(encode(records.NoteRecord(at=5, text="new")))
    tail.read()
    assert heard[-1] == records.NoteRecord(at=5, text="new"), "a file that was replaced is read from its beginning"
