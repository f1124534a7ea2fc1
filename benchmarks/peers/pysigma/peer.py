"""pySigma over files: `peer.py PATTERNS EVENTS [OUT]`, see ../__init__.py for the formats.

pySigma's back end for SQLite makes a query of each rule. Events are the rows of one table in memory, a text column for
each field that some rule names. Both SQLite and DuckDB run the queries, and the quicker one counts. SQLite's LIKE has
no case, DuckDB's has, so there LIKE becomes ILIKE, and what is compared by `=` has a column without case.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
from sigma.backends.sqlite import sqlite
from sigma.collection import SigmaCollection

Pairs = set[tuple[int, str]]


def queries(path: Path) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the query of each rule, and what was refused."""
    backend = sqlite.sqliteBackend()
    made, refused = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        try:
            (query,) = backend.convert(SigmaCollection.from_yaml(given["pattern"]))
            made[given["id"]] = query.replace("SELECT * FROM logs", "SELECT number FROM logs", 1)
        except Exception as error:  # whatever the back end raises, the rule is refused
            refused.append((given["id"], f"{type(error).__name__}: {error}"))
    return made, refused


def rows(path: Path, names: list[str]) -> list[list[Any]]:
    """Return the events as rows: their numbers and their fields as texts."""
    made = []
    for number, line in enumerate(path.read_bytes().splitlines()):
        event = json.loads(line)
        texts = [None if (value := event.get(name)) is None else _text(value) for name in names]
        made.append([number, *texts])
    return made


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def by_sqlite(made: dict[str, str], path: Path, found: Pairs) -> tuple[float, list[tuple[str, str]]]:
    """Run all queries; return the CPU seconds, and what SQLite refused."""
    connection = sqlite3.connect(":memory:")
    connection.create_function("regexp", 2, lambda pattern, text: text is not None and bool(_seek(pattern, text)))
    names = _columns(made)
    refused = []
    start = time.process_time()
    columns = ", ".join(f'"{name}" TEXT COLLATE NOCASE' for name in names)
    connection.execute(f"CREATE TABLE logs (number INTEGER, {columns})")
    marks = ", ".join("?" * (len(names) + 1))
    connection.executemany(f"INSERT INTO logs VALUES ({marks})", rows(path, names))
    for name, query in made.items():
        try:
            found.update((number, name) for (number,) in connection.execute(query))
        except sqlite3.Error as error:
            refused.append((name, str(error)))
    return time.process_time() - start, refused


def by_duckdb(made: dict[str, str], path: Path, found: Pairs) -> tuple[float, list[tuple[str, str]]]:
    """Run all queries; return the CPU seconds, and what DuckDB refused."""
    connection = duckdb.connect(config={"threads": 1})
    names = _columns(made)
    refused = []
    start = time.process_time()
    columns = ", ".join(f'"{name}" TEXT COLLATE NOCASE' for name in names)
    connection.execute(f"CREATE TABLE logs (number INTEGER, {columns})")
    lines = [dict(zip(["number", *names], row, strict=True)) for row in rows(path, names)]
    file = path.with_suffix(".laid.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    types = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    connection.execute(
        f"INSERT INTO logs SELECT * FROM read_json({_quoted(str(file))}, format='newline_delimited', "
        f"columns={{'number': 'INTEGER', {types}}})"
    )
    for name, query in made.items():
        try:
            found.update((number, name) for (number,) in connection.execute(_for_duckdb(query)).fetchall())
        except duckdb.Error as error:
            refused.append((name, str(error).splitlines()[0]))
    return time.process_time() - start, refused


def _columns(made: dict[str, str]) -> list[str]:
    """Return the names that stand in queries outside of texts, one of those that differ in case alone."""
    words = {"and", "or", "not", "select", "from", "where", "like", "escape", "is", "null", "in", "regexp", "logs",
             "number", "true", "false", "glob"}  # fmt: skip
    found: dict[str, str] = {}
    for query in made.values():
        plain = re.sub(r"'(?:''|[^'])*'", " ", query)
        for name in re.findall(r'"[^"]+"|`[^`]+`|[A-Za-z_][\w.-]*', plain):
            bare = name.strip('"`')
            if bare.lower() not in words:
                found.setdefault(bare.lower(), bare)
    return list(found.values())


def _for_duckdb(query: str) -> str:
    parts = re.split(r"('(?:''|[^'])*')", query)
    parts[::2] = [re.sub(r"\bLIKE\b", "ILIKE", one) for one in parts[::2]]
    text = "".join(parts)
    return re.sub(r"(\S+) REGEXP ('(?:''|[^'])*')", r"regexp_matches(\1, \2)", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _seek(pattern: str, text: str) -> Any:
    return re.search(pattern, text)


def main(patterns: Path, events: Path, out: Path | None) -> None:
    start = time.process_time()
    made, refused = queries(patterns)
    load = time.process_time() - start
    ways: dict[str, tuple[float, list[tuple[str, str]], Pairs]] = {}
    for name, run in (("sqlite", by_sqlite), ("duckdb", by_duckdb)):
        found: Pairs = set()
        try:
            seconds, bad = run(made, events, found)
        except (sqlite3.Error, duckdb.Error) as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        ways[name] = seconds, bad, found
    best = min(ways, key=lambda name: ways[name][0])
    seconds, _, _ = ways[best]
    _, bad, found = ways["sqlite"]  # for whose grammar the queries are made
    refused += bad
    if out is not None:
        out.write_text("".join(json.dumps([number, name]) + "\n" for number, name in sorted(found)), encoding="utf-8")
    left = {name for name, _ in refused}
    report = {
        "peer": f"pySigma, {best}", "patterns": len(made) - len(bad), "refused": refused,
        "taken": [name for name in made if name not in left], "events": len(events.read_bytes().splitlines()),
        "matches": len(found), "load_cpu_s": load, "cpu_s": seconds,
        "ways": {name: [way[0], len(way[1])] for name, way in ways.items()},
    }  # fmt: skip
    print(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]) if len(sys.argv) > 3 else None)
