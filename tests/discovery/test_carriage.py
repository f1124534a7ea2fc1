"""How summaries travel: padding, observers, references, seals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.discovery.carriage import (
    SUMMARY,
    Reference,
    Seal,
    carried_container,
    container_digest,
    decode_reference,
    decode_summary,
    is_observer,
    observer_container,
    summary_parameter,
)
from rookery.errors import FilterError
from rookery.filters import BloomTree, DomainKey, ObserverFilter, RibbonFilter
from rookery.rtps.announcements import ParticipantAnnouncement, decode_participant
from rookery.rtps.parameters import Parameter

SECRET = b"sixteen octets.."


@given(container=st.binary(max_size=64))
def test_a_container_comes_back_without_its_padding(container: bytes) -> None:
    parameter = summary_parameter(container)
    assert len(parameter.value) % 4 == 0
    assert carried_container([Parameter(0x8001, b"else"), parameter]) == container


@pytest.mark.parametrize("value", [b"", b"abc\0", b"abc\x05"])
def test_a_parameter_without_right_padding_is_an_empty_container(value: bytes) -> None:
    assert carried_container([Parameter(SUMMARY, value)]) == b""
    with pytest.raises(FilterError):
        decode_summary(b"")


def test_no_parameter_is_no_container() -> None:
    assert carried_container([]) is None


def test_an_observer_is_written_as_the_filters_write_it() -> None:
    key = DomainKey.derive(SECRET)
    assert observer_container(epoch=7) == ObserverFilter(epoch=7).to_bytes()
    assert observer_container(epoch=7, keyed=True) == ObserverFilter(epoch=7, domain_key=key).to_bytes()
    assert is_observer(observer_container(epoch=1))
    assert not is_observer(RibbonFilter().to_bytes())
    assert not is_observer(b"\xd1")


def test_a_tree_over_a_private_dictionary_is_asked_in_every_node() -> None:
    tree = BloomTree(namespace_size=8, node_size=2, namespace={"a": 0, "b": 5})
    tree.add("b")
    received = decode_summary(tree.to_bytes())
    assert received.contains_many(["a", "b", "c"]).tolist() == [False, True, False]
    assert received.query(["a", "b"]).nodes == (2,)


def test_a_reference_names_what_it_stands_for() -> None:
    reference = Reference(0xD4, 12, 5_000, container_digest(b"the summary"))
    assert decode_reference(reference.encode()) == reference
    assert len(reference.encode()) == 20
    assert decode_reference(b"\xd1 something else") is None
    for wrong in (reference.encode()[:-1], b"\xd0\x02" + reference.encode()[2:], b"\xd0\x01\x01" + bytes(17)):
        with pytest.raises(FilterError):
            decode_reference(wrong)


@given(sequence=st.integers(1, 1 << 62), flip=st.integers(0, 10_000))
def test_a_seal_holds_for_its_own_number_domain_and_octets_alone(sequence: int, flip: int) -> None:
    payload = ParticipantAnnouncement(b"p" * 12, 10, (), (), vendor_parameters=(summary_parameter(b"x" * 9),)).encode()
    seal = Seal.derive(SECRET, domain_id=4)
    closed = seal.close(payload, sequence=sequence)
    assert seal.is_whole(closed, sequence=sequence)
    assert decode_participant(closed).prefix == b"p" * 12
    assert not seal.is_whole(closed, sequence=sequence + 1)
    assert not Seal.derive(SECRET, domain_id=5).is_whole(closed, sequence=sequence)
    assert not Seal.derive(SECRET[::-1], domain_id=4).is_whole(closed, sequence=sequence)
    assert not seal.is_whole(payload, sequence=sequence)
    changed = bytearray(closed)
    changed[flip % len(closed)] ^= 1 + flip % 255
    assert not seal.is_whole(bytes(changed), sequence=sequence)


def test_a_seal_shows_no_secret_and_wants_a_real_one() -> None:
    assert "octets" not in repr(Seal.derive(SECRET, domain_id=0))
    with pytest.raises(FilterError, match="16 octets"):
        Seal.derive(b"short", domain_id=0)
