"""A reader and a writer that is lost and found again: nothing twice where names are unique, all of it where not."""

from __future__ import annotations

import pytest

from rookery.rtps.limits import Limits

from .link import READER, WRITER, Link


def talk(link: Link, *payloads: bytes) -> None:
    for payload in payloads:
        link.write(payload)
    link.carry_all()


@pytest.mark.parametrize("writer_notices", [False, True])
def test_it_goes_on_behind_what_was_delivered(writer_notices: bool) -> None:
    link = Link(keeps=True)
    link.match(with_history=True, is_unique=True)
    talk(link, b"1...", b"2...")
    link.settle()
    link.reader.unmatch(WRITER)
    if writer_notices:
        link.writer.unmatch(READER)
    talk(link, b"3...")
    link.rematch(writer_too=writer_notices, is_unique=True)
    talk(link, b"4...")
    link.settle()
    assert link.payloads() == [b"1...", b"2...", b"3...", b"4..."]


def test_what_was_held_ahead_of_its_turn_comes_again() -> None:
    link = Link(keeps=True)
    link.match(with_history=True, is_unique=True)
    link.carry_all()
    for payload in (b"1...", b"2...", b"3..."):
        link.write(payload)
    del link.way[0]  # so the reader has two that are ahead of their turn
    link.carry_all()
    assert link.payloads() == []
    link.reader.unmatch(WRITER)
    link.rematch(writer_too=False, is_unique=True)
    link.settle()
    assert link.payloads() == [b"1...", b"2...", b"3..."]


def test_a_name_that_may_be_used_again_begins_again() -> None:
    link = Link(keeps=True)
    link.match(with_history=True)
    talk(link, b"1...", b"2...")
    link.settle()
    link.reader.unmatch(WRITER)
    link.rematch(writer_too=False)
    link.settle()
    assert link.payloads() == [b"1...", b"2...", b"1...", b"2..."]


def test_tombstones_are_bounded() -> None:
    link = Link(limits=Limits(participants=3))
    for number in range(10):
        writer = WRITER._replace(entity=number << 8 | 3)
        link.reader.match(writer, destination=link.left, reliable=False, from_first=True, now=0, is_unique=True)
        link.reader.writers[writer].next = 5
        link.reader.unmatch(writer)
    assert len(link.reader._tombstones) == 3
