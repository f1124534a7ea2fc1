"""`rookery plan` from the outside: table, JSON, page, captures, and what it says of wrong input."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from .systems import ros_graph
from .test_captures import PAYLOADS, classic, ipv4


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rookery", "plan", *arguments], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "robot.json"
    path.write_text(json.dumps(ros_graph(24)))
    return path


def test_the_document_has_the_promised_shape_and_the_page_stands_alone(graph: Path, tmp_path: Path) -> None:
    page = tmp_path / "plan.html"
    finished = run(str(graph), "--json", "--html", str(page))
    assert finished.returncode == 0, finished.stderr
    document = json.loads(finished.stdout)
    assert set(document["protocols"]) == {"simple", "bloom", "tree", "cuckoo", "ribbon", "hashes", "server"}
    promised = {"packets", "bytes", "memory_per_node", "seconds", "false_contacts", "saved_percent"}
    assert all(promised <= set(row) for row in document["protocols"].values())
    assert isinstance(document["verdict"], str)
    assert document["topology"]["participants"] == 24
    assert set(document["views"]) == {"unicast", "unicast_without_infrastructure"}
    assert all(row["bytes_per_minute"] > 0 for row in document["protocols"].values())
    assert set(document["stacks"]) == {"cyclone_unicast", "cyclone", "fastdds", "fastdds_server"}
    assert all(row["bytes"] > 0 and row["bytes_per_minute"] > 0 for row in document["stacks"].values())
    text = page.read_text()
    seen = _Page()
    seen.feed(text)
    assert not seen.open
    assert seen.count["svg"] == 5
    assert not seen.outside
    assert "prefers-color-scheme: dark" in text
    assert document["verdict"].split(".")[0] in text


class _Page(HTMLParser):
    """Counts elements, sees that each is closed, and that nothing is fetched from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in ("meta",):
            self.open.append(tag)
        self.outside += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1


def test_a_capture_gives_a_table_with_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(classic([*map(ipv4, PAYLOADS), ipv4(b"x", fragment=9)], 101))
    finished = run(str(path), "--protocols", "ribbon")
    assert finished.returncode == 0, finished.stderr
    assert f"discovery in the capture: {len(PAYLOADS)} packets, {sum(map(len, PAYLOADS)):,} bytes" in finished.stdout
    assert "run.pcap: 3 participants, 3 endpoints, 2 topics" in finished.stdout
    assert "No change is worth it" in finished.stdout
    assert "1 frames skipped: IP fragments" in finished.stderr
    assert "tree" not in finished.stdout


def test_mistakes_are_one_line_that_says_what_to_do(graph: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"edges": []}')
    for arguments, message in (
        ([str(tmp_path / "nothing.json")], "No such file"),
        ([str(wrong)], "has none of nodes, topics, participants"),
        ([str(graph), "--group-by", "process"], "has no 'process' to group by"),
        ([str(graph), "--protocols", "gossip"], "no protocol is called 'gossip'"),
    ):
        finished = run(*arguments)
        assert finished.returncode == 1
        assert message in finished.stderr
        assert len(finished.stderr.strip().splitlines()) == 1
