"""What `rookery node` shows of a summary; the lines of --endpoints are tested live, in tests/live."""

from __future__ import annotations

import pytest

from rookery.cli.node_endpoints import as_text, summary_facts, tree_facts
from rookery.discovery.carriage import observer_container, summary_parameter
from rookery.discovery.protocols import summary_of
from rookery.filters import DomainKey
from rookery.rtps.announcements import ParticipantAnnouncement
from rookery.rtps.events import FoundTopic, TreeSearched
from rookery.rtps.parameters import Parameter


def announcing(*parameters: Parameter) -> ParticipantAnnouncement:
    return ParticipantAnnouncement(b"\x01\x5a" + bytes(10), 1, (), (), 0, name="", vendor_parameters=parameters)


def container(protocol: str, domain_key: DomainKey | None = None) -> bytes:
    summary = summary_of(protocol, domain_key=domain_key)
    assert summary is not None
    for number in range(14):
        summary.add(f"W\x1ft{number}\x1fT")
    return summary.encode(epoch=1, room=1_400)


@pytest.mark.parametrize(
    ("octets", "facts"),
    [
        (container("cuckoo:patent"), {"summary": "cuckoo", "buckets": [16, 8], "fingerprints": [1, 13]}),
        (
            container("tree"),
            {"summary": "tree", "layers": 1, "sub_nodes": [{"layer": 1, "column": 1, "rows": 3}]},
        ),
        (container("ribbon"), {"summary": "ribbon"}),
        (container("cuckoo", DomainKey.derive(b"sixteen octets..", domain=0)), {"summary": "cuckoo"}),
        (observer_container(epoch=1), {"summary": "observer"}),
        (b"nonsense", {"summary": "unknown"}),
    ],
    ids=["cuckoo", "tree", "ribbon", "of another key", "observer", "nonsense"],
)
def test_a_summary_shows_its_kind_its_octets_and_its_tables(octets: bytes, facts: dict[str, object]) -> None:
    assert summary_facts(announcing(summary_parameter(octets))) == {**facts, "octets": len(octets)}


def test_who_sends_no_summary_shows_none() -> None:
    assert summary_facts(announcing()) == {}


def test_a_searched_tree_shows_where_topics_are() -> None:
    searched = tree_facts(TreeSearched(b"p" * 12, 44, 3, 2, (FoundTopic("robot1/scan", "T", 2, 1),)))
    assert searched["octets"] == 44
    assert searched["found"] == [{"topic": "robot1/scan", "type_name": "T", "layer": 2, "column": 1}]
    assert as_text(searched).endswith("  44  3  2  [topic robot1/scan type_name T layer 2 column 1]")
    assert as_text({"event": "writer discovered", "found": []}) == "writer discovered  []"
