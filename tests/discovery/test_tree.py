"""The tree in a participant: what is announced, and what a peer learns from the octets."""

from __future__ import annotations

import random

import pytest

from rookery.discovery import FALSE_POSITIVE_RATE
from rookery.discovery.carriage import decode_summary
from rookery.discovery.directory import InterestDirectory
from rookery.discovery.protocols import require_protocol, summary_of
from rookery.discovery.tree import search_tree
from rookery.errors import TopicError
from rookery.filters import SubNode, summarize
from rookery.rtps import Guid
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import READER_KEYLESS

PEER = b"peer........"


def writer_key(topic: str) -> str:
    return f"W\x1f{topic}\x1fT"


def announced(topics: list[str], protocol: str = "tree") -> bytes:
    summary = summary_of(protocol)
    assert summary is not None
    for topic in topics:
        summary.add(writer_key(topic))
    return summary.encode(epoch=1, room=1_200)


def reader(number: int, topic: str) -> EndpointAnnouncement:
    return EndpointAnnouncement(Guid(b"us..........", number << 8 | READER_KEYLESS), topic, "T")


def test_a_directory_learns_the_sub_nodes_of_a_peer_from_its_octets() -> None:
    directory = InterestDirectory()
    early, late, absent = (
        reader(n, topic) for n, topic in enumerate(["robot1/arm/joints", "robot1/scan", "robot2/scan"])
    )
    for one in (early, absent):
        directory.add_local(one)
    container = announced(["robot1/arm/joints", "robot1/scan", "battery"])
    assert directory.set_summary(PEER, decode_summary(container), octets=len(container)) == [early.guid]
    view = directory.view(PEER)
    assert list(view.sub_nodes) == [writer_key("robot1/arm/joints")]
    (place,) = view.sub_nodes[writer_key("robot1/arm/joints")]
    assert isinstance(place, SubNode)
    assert place.layer == 3
    assert view.visited >= 3
    assert directory.add_local(late) == [PEER]
    (above,) = view.sub_nodes[writer_key("robot1/scan")]
    assert above.layer == 2
    assert (place.column + 1) // 2 == above.column  # one is a part of the other
    directory.remove_local(late.guid)
    assert list(view.sub_nodes) == [writer_key("robot1/arm/joints")]
    # What the tree does not have, nobody learns a place for.
    fewer = announced(["battery"])
    directory.set_summary(PEER, decode_summary(fewer), octets=len(fewer))
    assert view.sub_nodes == {}
    for summary in (summarize([writer_key("robot1/arm/joints")], "ribbon"), None):
        directory.set_summary(PEER, decode_summary(container), octets=len(container))
        assert view.sub_nodes
        if summary is None:
            directory.drop_summary(PEER)
        else:
            directory.set_summary(PEER, summary, octets=20)
        assert view.sub_nodes == {}


def test_a_peer_that_wants_everything_still_tells_its_sub_nodes() -> None:
    directory = InterestDirectory()
    directory.add_local(reader(1, "scan"))
    directory.set_everything(PEER)
    container = announced(["scan"])
    assert directory.set_summary(PEER, decode_summary(container), octets=len(container)) == []
    assert directory.view(PEER).sub_nodes == {writer_key("scan"): (SubNode(1, 1),)}


@pytest.mark.parametrize("protocol", ["tree", "tree:paper"])
def test_the_tree_as_printed_runs_too(protocol: str) -> None:
    topics = [f"robot{number % 3}/part{number % 5}/topic{number}" for number in range(40)]
    container = announced(topics, protocol)
    received = decode_summary(container)
    assert received.mode == ("paper" if protocol == "tree:paper" else "sound")
    keys = [writer_key(topic) for topic in topics]
    for mode in ("sound", "paper"):
        searched = search_tree(received, keys, mode=mode)
        assert searched is not None
        missed = set(keys) - set(searched.sub_nodes)
        assert not missed or mode == "paper"
        assert len(missed) <= 4
    assert search_tree(summarize(keys, "ribbon"), keys, mode="sound") is None


def test_all_that_is_printed_costs_more_octets() -> None:
    topics = [f"robot{number % 3}/part{number % 5}/topic{number}" for number in range(40)]
    assert len(announced(topics, "tree:paper")) > 1.5 * len(announced(topics))


@pytest.mark.parametrize("count", [5, 40, 400])
def test_what_went_up_comes_down_to_what_a_fresh_one_has(count: int) -> None:
    dice, topics = random.Random(count), [f"area{number % 7}/topic{number}" for number in range(1_000)]
    summary = summary_of("tree")
    assert summary is not None
    for topic in topics:
        summary.add(writer_key(topic))
    kept, gone = topics[-count:], topics[:-count]  # the last are where there was room, far down
    dice.shuffle(gone)
    for topic in gone:
        summary.remove(writer_key(topic))
    left, fresh = summary.encode(epoch=1, room=1_200), announced(kept)
    assert abs(len(left) - len(fresh)) <= max(16, 0.05 * len(fresh))  # a row; which keys are deep depends on the order
    assert count != 5 or len(left) == len(fresh)
    assert decode_summary(left).contains_many([writer_key(topic) for topic in kept]).all()


def test_the_rate_is_what_it_is_sized_for() -> None:
    """Names of every depth in one participant, asked for others like them; and never six times a ribbon's octets."""
    for count in (10, 100, 1_000):
        topics = ["/".join(["rt", f"robot{n % 4}", f"part{n % 9}"][: n % 4]) + f"/topic{n}" for n in range(count)]
        container = announced(topics)
        absent = [writer_key(topic.replace("topic", "other")) for topic in topics for _ in range(1)]
        asked = [f"{key}{number}" for key in absent for number in range(200_000 // count)]
        assert decode_summary(container).contains_many(asked).mean() <= 1.3 * FALSE_POSITIVE_RATE
        assert len(container) < 5 * len(announced(topics, "ribbon"))


def test_there_is_one_setting() -> None:
    assert require_protocol("tree:paper") == "tree:paper"
    with pytest.raises(TopicError, match="the only setting is tree:paper"):
        require_protocol("tree:rows=3")
    with pytest.raises(TopicError, match="only cuckoo and tree can be set"):
        require_protocol("ribbon:paper")
