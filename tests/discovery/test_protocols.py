"""The summaries of all protocols against a plain set: never no wrongly, whatever comes and goes."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.discovery import FALSE_POSITIVE_RATE, PROTOCOLS
from rookery.discovery.carriage import decode_summary
from rookery.discovery.hashes import HashList
from rookery.discovery.protocols import Summary, rate_among, require_protocol, summary_of
from rookery.errors import FilterError, TopicError
from rookery.filters import DomainKey

SUMMARIZING = [name for name in PROTOCOLS if name != "simple"]
KEY = DomainKey.derive(b"sixteen octets..", domain=3)


def keys(count: int, kind: str = "W") -> list[str]:
    return [f"{kind}\x1ftopic{number}\x1ftype" for number in range(count)]


def made(protocol: str, domain_key: DomainKey | None = None) -> Summary:
    summary = summary_of(protocol, domain_key=domain_key)
    assert summary is not None
    return summary


@pytest.mark.parametrize("protocol", SUMMARIZING)
@settings(max_examples=30)
@given(moves=st.lists(st.tuples(st.integers(0, 40), st.booleans()), max_size=80), keyed=st.booleans())
def test_what_is_in_is_found_after_any_history(protocol: str, moves: list[tuple[int, bool]], keyed: bool) -> None:
    domain_key = KEY if keyed else None
    summary, held = made(protocol, domain_key), set()
    for epoch, (number, settle) in enumerate(moves):
        key = f"R\x1ftopic{number}\x1ftype"
        if key in held:
            held.remove(key)
            summary.remove(key)
        else:
            held.add(key)
            summary.add(key)
        if settle:
            summary.settle()
        received = decode_summary(summary.encode(epoch=epoch, room=1_200), domain_key)
        assert received.epoch == epoch
        if held:
            assert received.contains_many(sorted(held)).all()


@pytest.mark.parametrize("protocol", SUMMARIZING)
@pytest.mark.parametrize("count", [0, 1, 10, 200])
def test_absent_keys_are_mostly_absent(protocol: str, count: int) -> None:
    summary = made(protocol)
    for key in keys(count):
        summary.add(key)
    received = decode_summary(summary.encode(epoch=1, room=2_000))
    hits = int(received.contains_many(keys(10_000, "R")).sum())
    assert hits <= 10_000 * 16 * FALSE_POSITIVE_RATE
    assert received.contains_many(keys(count)).all() if count else hits == 0


@pytest.mark.parametrize("protocol", SUMMARIZING)
@pytest.mark.parametrize("count", [1, 10, 40, 1_000])
def test_the_rate_is_the_one_that_all_are_sized_for(protocol: str, count: int) -> None:
    """Measured over many participants; a cuckoo table of 12-bit entries has up to 3.2 times it, as its page says."""
    worlds, absent = max(1, 40 // count), pa.array([f"W\x1farea/other{number}\x1ftype" for number in range(40_000)])
    hits = 0
    for world in range(worlds):
        summary = made(protocol)
        for number in range(count):
            summary.add(f"W\x1farea/topic{world}-{number}\x1ftype")
        while summary.settle():
            pass
        hits += int(decode_summary(summary.encode(epoch=1, room=1 << 16)).contains_many(absent).sum())
    rate = hits / (worlds * len(absent))
    assert rate <= (3.6 if protocol == "cuckoo" else 1.4) * FALSE_POSITIVE_RATE


@pytest.mark.parametrize("protocol", ["bloom", "ribbon"])
def test_a_summary_that_can_be_told_less_exactly_fits_its_room(protocol: str) -> None:
    summary = made(protocol)
    for key in keys(1_500):
        summary.add(key)
    container = summary.encode(epoch=1, room=1_000)
    assert 900 < len(container) <= 1_000
    assert decode_summary(container).contains_many(keys(1_500)).all()


def test_the_cuckoo_table_doubles_step_by_step_and_sends_both() -> None:
    summary = made("cuckoo")
    for key in keys(14):
        summary.add(key)
    containers = [summary.encode(epoch=0, room=1_000)]
    while summary.settle():
        containers.append(summary.encode(epoch=0, room=1_000))
    assert containers[0][2] == 2  # filters in the container
    assert containers[-1][2] == 1
    assert len(containers) > 2
    for container in containers:
        assert decode_summary(container).contains_many(keys(14)).all()


def test_there_is_no_summary_in_simple_and_no_protocol_of_another_name() -> None:
    assert summary_of("simple") is None
    with pytest.raises(TopicError, match="choose from simple, bloom, tree, cuckoo, ribbon, hashes"):
        require_protocol("gossip")


@given(texts=st.sets(st.text()), asked=st.lists(st.text(), min_size=1))
def test_the_list_of_hashes_is_a_set(texts: set[str], asked: list[str]) -> None:
    received = HashList.from_bytes(HashList.of(sorted(texts), epoch=9).to_bytes())
    assert received.epoch == 9
    assert received.contains_many(asked).tolist() == [text in texts for text in asked]
    assert [text in received for text in asked] == [text in texts for text in asked]
    assert len(received) == len(texts)


def test_a_list_of_hashes_that_is_none_is_refused() -> None:
    octets = HashList.of(["a", "b", "c"]).to_bytes()
    first, second = octets[16:20], octets[20:24]
    for wrong in (octets[:-1], octets + b"\0", octets[:16] + second + first + octets[24:], octets[:10], b""):
        with pytest.raises(FilterError):
            HashList.from_bytes(wrong)
    with pytest.raises(FilterError, match="16 bits"):
        HashList.from_bytes(octets[:3] + b"\x10" + octets[4:])


def test_the_rate_follows_the_number_of_participants() -> None:
    assert [rate_among(count) for count in (1, 512, 513, 1_024, 2_000, 100_000)] == [
        2.0**-bits for bits in (17, 17, 18, 18, 19, 25)
    ]
