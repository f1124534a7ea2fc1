"""`rookery ls`, `rookery ps` and `rookery node` in a domain with a real Cyclone DDS participant."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import CyclonePeer

pytestmark = pytest.mark.wire
PROGRAM = [sys.executable, "-c", "from rookery.cli import main; main()"]
Cyclone = Callable[..., CyclonePeer]


def rookery(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, check=False)


def test_ls_and_ps_show_what_is_there(cyclone: Cyclone, domain_id: int) -> None:
    peer = cyclone()
    peer.do("writer", topic="quotes", type="Quote", transient_local=True)
    peer.do("writer", topic="quotes", type="Quote", transient_local=True)
    peer.do("reader", topic="hello", type="Message", reliable=False, depth=3, deadline=2)
    domain = ["--domain-id", str(domain_id)]

    listed = rookery("ls", *domain)
    assert listed.returncode == 0, listed.stderr
    assert f"2 topics, 3 endpoints in domain {domain_id} on lo" in listed.stderr
    lines = [" ".join(line.split()) for line in listed.stdout.splitlines()]
    assert lines[1] == "hello test::Message 0 1 best effort, volatile, keep last 3, deadline 2 s none"
    assert lines[2] == "quotes test::Quote (keyed) 2 0 reliable, transient local, keep all none"

    topics = json.loads(rookery("ls", *domain, "--json").stdout)["topics"]
    assert [topic["topic"] for topic in topics] == ["hello", "quotes"]
    assert [endpoint["kind"] for endpoint in topics[1]["endpoints"]] == ["writer", "writer"]
    assert topics[0]["endpoints"][0]["quality"] == {
        "reliability": "best_effort",
        "durability": "volatile",
        "history": "keep_last 3",
        "deadline_seconds": 2.0,
    }
    assert topics[0]["endpoints"][0]["summary"] is None

    (participant,) = json.loads(rookery("ps", *domain, "--json").stdout)["participants"]
    assert participant["vendor"] == "Eclipse Cyclone DDS"
    assert (participant["writers"], participant["readers"]) == (2, 1)
    assert participant["lease_seconds"] == 10.0
    assert participant["summary"] is None
    shown = rookery("ps", *domain).stdout
    assert participant["prefix"] in shown
    assert "Eclipse Cyclone DDS" in shown


def test_ls_says_who_is_apart_and_why(cyclone: Cyclone, domain_id: int) -> None:
    peer, other = cyclone(), cyclone()
    writer = peer.do("writer", topic="quotes", type="Quote")
    other.do("reader", topic="quotes", type="Quote", transient_local=True)
    domain = ["--domain-id", str(domain_id)]
    wrong = ["--topic", "quotes", "--type-name", "test::Quote", "--key", "symbol"]
    process = subprocess.Popen(
        [*PROGRAM, "node", *domain, *wrong, "--schema", "symbol:string,price:int64,size:int64"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert any("reading quotes" in line for line in process.stderr)
        topic, seconds = {"apart": []}, 1
        while len(topic["apart"]) < 2:  # where the machine was too slow, again and longer
            seconds *= 2
            (topic,) = json.loads(rookery("ls", *domain, "--seconds", str(seconds), "--json").stdout)["topics"]
        kinds = {endpoint["guid"]: endpoint["kind"] for endpoint in topic["endpoints"]}
        assert sorted(kinds.values()) == ["reader", "reader", "writer"]
        assert {reason for one in topic["apart"] for reason in one["reasons"]} == {
            "price is float64 at the writer, int64 at the reader",
            "durability volatile is offered, transient local asked for",
        }
        for one in topic["apart"]:
            assert [kinds[guid] for guid in (*one["writers"], *one["readers"])] == ["writer", "reader"]
        listed = rookery("ls", *domain, "--seconds", str(2 * seconds)).stdout
        lines = [" ".join(line.split()) for line in listed.splitlines()]
        assert "quotes 1 1 price is float64 at the writer, int64 at the reader" in lines
        seen = rookery("ps", *domain, "--seconds", str(2 * seconds))
        assert "1 topics have writers and readers apart: see rookery ls" in seen.stderr
        assert peer.do("wait_matched", entity=writer, count=0)  # Cyclone DDS is of the same opinion
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_node_prints_the_events_that_a_filter_wants(cyclone: Cyclone, domain_id: int) -> None:
    peer = cyclone()
    writer = peer.do("writer", topic="quotes", type="Quote")
    options = ["--domain-id", str(domain_id), "--topic", "quotes", "--type-name", "test::Quote", "--key", "symbol"]
    schema = ["--schema", "symbol:string,price:float64,size:int64", "--where", "price < 3"]
    process = subprocess.Popen(
        [*PROGRAM, "node", *options, *schema], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert peer.do("wait_matched", entity=writer)
        peer.do("write", entity=writer, samples=[{"symbol": "A", "price": n / 2, "size": n} for n in range(20)])
        assert process.stdout is not None
        got = [json.loads(process.stdout.readline()) for _ in range(6)]
        assert got == [{"symbol": "A", "price": n / 2, "size": n} for n in range(6)]
        process.send_signal(signal.SIGINT)
        assert process.wait(600) == 130
        assert peer.do("wait_matched", entity=writer, count=0)
    finally:
        process.kill()
        process.communicate()


def test_tools_see_what_a_node_with_summaries_tells_nobody(domain_id: int, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("a key of 16 octets or more\n")
    domain = ["--domain-id", str(domain_id), "--key-file", str(key)]
    process = subprocess.Popen(
        [*PROGRAM, "node", *domain, "--discovery", "ribbon", "--topic", "quotes", "--schema", "price:float64"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert any("reading quotes" in line for line in process.stderr)  # after what it says while it compiles
        (participant,) = json.loads(rookery("ps", *domain, "--json").stdout)["participants"]
        assert participant["summary"] == "ribbon"
        assert participant["summary_bytes"] > 20
        (topic,) = json.loads(rookery("ls", *domain, "--json").stdout)["topics"]
        assert (topic["topic"], topic["endpoints"][0]["summary"]) == ("quotes", "ribbon")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def test_node_prints_what_happens_in_the_domain(cyclone: Cyclone, domain_id: int) -> None:
    peer = cyclone()
    peer.do("writer", topic="quotes", type="Quote")
    process = subprocess.Popen(
        [*PROGRAM, "node", "--domain-id", str(domain_id), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        events = [json.loads(process.stdout.readline()) for _ in range(2)]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()
    assert [event["event"] for event in events] == ["participant discovered", "writer discovered"]
    assert events[1]["topic"] == "quotes"


def test_a_node_doubles_its_filter_and_ends_the_transfer_under_churn_in_the_setting_of_seed_001(domain_id: int) -> None:
    """Two processes: one has endpoints that come and go, the other prints what it hears. Each change is one line."""
    started = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    node = [*PROGRAM, "node", "--domain-id", str(domain_id), "--json", "--discovery"]
    watching = subprocess.Popen([*node, "ribbon"], **started)  # type: ignore[call-overload]
    assert any("joined domain" in line for line in watching.stderr)
    growing = subprocess.Popen([*node, "cuckoo:patent", "--endpoints", "-"], **started)  # type: ignore[call-overload]

    def say(*lines: str) -> None:
        growing.stdin.write("".join(f"{line}\n" for line in lines))
        growing.stdin.flush()

    def heard() -> dict[str, Any]:
        while True:
            event = json.loads(watching.stdout.readline())
            if "buckets" in event:
                assert event["summary"] == "cuckoo"
                assert event["octets"] > 20
                return dict(event)

    try:
        assert any("joined domain" in line for line in growing.stderr)
        say("publish nothing", "end nothing", *(f"write topic{number} Sample" for number in range(13)))
        while (last := heard())["buckets"] != [16, 8]:
            pass
        for number in range(26):  # 13 fingerprints, one with each announcement
            say(f"write churn{number}" if number % 2 == 0 else f"end churn{number - 1}")
            left, last = last["fingerprints"][1], heard()
            if last["buckets"] == [16]:
                break
            assert last["fingerprints"][1] < left
        assert last["buckets"] == [16]
        assert last["fingerprints"][0] in (13, 14)
    finally:
        for process in (growing, watching):
            process.send_signal(signal.SIGINT)
        said = [process.communicate()[1] for process in (growing, watching)]
    assert "line 1: 'publish nothing': give write TOPIC, read TOPIC or end TOPIC" in said[0]
    assert "line 2: nothing here reads or writes 'nothing'" in said[0]


def test_a_node_searches_the_tree_of_another_and_learns_its_sub_nodes(domain_id: int) -> None:
    """Two processes: one seeks topics; the tree of the other grows, is searched with each announcement, and shrinks."""
    started = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    node = [*PROGRAM, "node", "--domain-id", str(domain_id), "--json", "--discovery", "tree", "--endpoints", "-"]
    seeking, changing = (subprocess.Popen(node, **started) for _ in range(2))  # type: ignore[call-overload]
    announced: list[dict[str, Any]] = []
    searches: list[dict[str, Any]] = []

    def say(to: subprocess.Popen[str], *lines: str) -> None:
        to.stdin.write("".join(f"{line}\n" for line in lines))
        to.stdin.flush()

    def searched(wanted: Callable[[dict[str, tuple[int, int]]], bool]) -> dict[str, tuple[int, int]]:
        """Read what the seeking node prints until a search gave what is wanted."""
        while True:
            event = json.loads(seeking.stdout.readline())
            if event.get("summary") == "tree":
                announced.append(event)
            if event["event"] == "tree searched":
                searches.append(event)
                found = {each["topic"]: (each["layer"], each["column"]) for each in event["found"]}
                if wanted(found):
                    return found

    try:
        for process in (seeking, changing):
            assert any("joined domain" in line for line in process.stderr)
        say(seeking, *(f"read {topic} T" for topic in ("scan", "robot1/scan", "robot2/scan", "robot1/arm/joints")))
        while json.loads(changing.stdout.readline()).get("layers") != 3:  # the last of its topics is announced
            pass
        say(changing, *(f"write {topic} T" for topic in ("scan", "robot1/scan", "robot1/arm/joints")))
        first = searched(lambda found: len(found) == 3)
        assert [first[topic][0] for topic in ("scan", "robot1/scan", "robot1/arm/joints")] == [1, 2, 3]
        assert (first["robot1/arm/joints"][1] + 1) // 2 == first["robot1/scan"][1]  # the arm is a part of the robot
        small = searches[-1]["octets"]
        assert small == announced[-1]["octets"]
        assert announced[-1]["sub_nodes"] == [
            {"layer": layer, "column": column, "rows": 1} for layer, column in sorted(first.values())
        ]
        say(changing, *(f"write robot1/topic{number} T" for number in range(29)), "write robot2/scan T")
        grown = searched(lambda found: "robot2/scan" in found and announced[-1]["octets"] > small + 80)
        assert grown["robot2/scan"][0] >= 2
        assert {"layer": 2, "column": first["robot1/scan"][1], "rows": 6} in announced[-1]["sub_nodes"]
        say(changing, *(f"end robot1/topic{number}" for number in range(29)), "end robot2/scan")
        assert searched(lambda found: len(found) == 3 and announced[-1]["octets"] == small) == first
        say(changing, "end robot1/arm/joints")
        assert "robot1/arm/joints" not in searched(lambda found: len(found) == 2)
    finally:
        for process in (changing, seeking):
            process.send_signal(signal.SIGINT)
        for process in (changing, seeking):
            process.communicate()


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (["node", "--where", "x = 1"], 2, "give --topic too"),
        (["node", "--topic", "t", "--key", "x"], 2, "give --schema too"),
        (["node", "--discovery", "gossip"], 2, "choose from simple, bloom, tree, cuckoo, ribbon, hashes"),
        (["node", "--discovery", "cuckoo:bits=40"], 2, "an entry has 8 to 16 bits"),
        (["node", "--discovery", "tree:rows=2"], 2, "the only setting is tree:paper"),
        (["node", "--endpoints", "nowhere"], 2, "--endpoints nowhere: No such file"),
        (["node", "--endpoints", "-", "--topic", "t"], 2, "without --topic"),
        (["ps", "--key-file", "nowhere"], 2, "--key-file nowhere: No such file"),
        (["ls", "--interface", "nowhere0"], 1, "no interface 'nowhere0'"),
        (["ps", "--domain-id", "999"], 1, "choose one of 0 to 232"),
    ],
)
def test_mistakes_are_one_message(arguments: list[str], code: int, reason: str, tmp_path: Path) -> None:
    done = subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == code
    assert reason in done.stderr
    assert "Traceback" not in done.stderr
