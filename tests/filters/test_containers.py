"""The container of every summary: golden bytes of our own, refusals that say why, and one protocol for all."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest

import rookery.filters
from rookery.errors import FilterError
from rookery.filters import (
    STRUCTURES,
    BloomFilter,
    DeletableFilter,
    DomainKey,
    Filter,
    ObserverFilter,
    RibbonFilter,
    from_bytes,
    is_newer,
    summarize,
)
from rookery.filters.container import FILL_CAP

KEYS = [f"W\x1frt/topic_{i}\x1fstd_msgs/String" for i in range(300)]


def test_golden_containers(golden):
    case = golden("21_containers")
    for entry in case["cases"]:
        secret = bytes.fromhex(entry["pre_shared_key_hex"])
        domain_key = DomainKey.derive(secret, domain=entry["domain"]) if secret else None
        made = summarize(
            entry["keys"],
            entry["structure"],
            entry["rate"],
            seed=entry["seed"],
            epoch=entry["epoch"],
            domain_key=domain_key,
        )
        assert made.to_bytes().hex() == entry["wire_hex"], entry["name"]
        received = from_bytes(bytes.fromhex(entry["wire_hex"]), domain_key=domain_key)
        assert received.contains_many(entry["keys"]).all(), entry["name"]
        assert (received.epoch, received.hasher.seed) == (entry["epoch"], entry["seed"])
        if secret:
            with pytest.raises(FilterError, match="domain_key"):
                from_bytes(bytes.fromhex(entry["wire_hex"]))
    late = from_bytes(bytes.fromhex(case["ribbon_with_delta_hex"]))
    assert "late" in late
    assert late.delta_count == 1
    alone = from_bytes(bytes.fromhex(case["ribbon_delta_only_hex"]))
    assert "late" in late.with_delta(alone)


def test_golden_refusals(golden):
    for entry in golden("21_containers")["reject"]:
        with pytest.raises(FilterError, match=entry["error"]):
            from_bytes(bytes.fromhex(entry["wire_hex"]))


def test_observer_is_a_flag(golden):
    observer = from_bytes(bytes.fromhex(golden("21_containers")["observer_hex"]))
    assert isinstance(observer, ObserverFilter)
    assert "anything" in observer
    assert observer.contains_many(pa.array(["a", "b"])).tolist() == [True, True]
    assert (observer.size_in_bits, observer.expected_false_positive_rate, observer.epoch) == (0, 1.0, 7)
    for magic, size in ((0xD2, 20), (0xD3, 16)):
        assert isinstance(from_bytes(bytes([magic, 1, 1]) + bytes(size - 3)), ObserverFilter)
    full = BloomFilter(bit_count=80, hash_count=1)
    full.add_many([f"k{i}" for i in range(1000)])
    with pytest.raises(FilterError, match="fill cap"):
        full.to_bytes()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_one_protocol(structure):
    made = summarize(pa.array(KEYS), structure, 0.01)
    assert isinstance(made, Filter)
    assert isinstance(made, DeletableFilter) == (structure not in ("bloom", "blocked"))
    wire = made.to_bytes()
    for received in (from_bytes(wire), type(made).from_bytes(wire) if structure != "counting" else from_bytes(wire)):
        assert received.contains_many(pa.array(KEYS)).all()
        assert all(key in received for key in KEYS[:30])
        assert all(received.contains_hash(received.hasher(key)) for key in KEYS[:30])
        assert 0 < received.expected_false_positive_rate < 0.05
        assert received.size_in_bits <= 8 * len(wire)
        assert 5 not in received
        with pytest.raises(FilterError, match="read only"):
            received.add("x")
        with pytest.raises(FilterError, match="read only"):
            received.add_many(["x"])
    assert made.contains_many([]).tolist() == []
    assert summarize([], structure).contains_many(["a"]).tolist() == [False]
    assert summarize(iter(KEYS), structure).contains_many(KEYS).all()
    assert "a" not in from_bytes(summarize([], structure).to_bytes())


@pytest.mark.parametrize("structure", STRUCTURES)
def test_header_is_at_most_twenty_bytes(structure):
    made = summarize(KEYS, structure, 0.01)
    bits = from_bytes(made.to_bytes()).size_in_bits  # what a counting filter announces is its bits
    assert len(made.to_bytes()) - (bits + 7) // 8 <= 20


def test_the_same_key_and_domain_give_the_same_bytes():
    one, two = (DomainKey.derive(b"a shared secret of the fleet", domain=4) for _ in range(2))
    for structure in STRUCTURES:
        first = summarize(KEYS, structure, domain_key=one).to_bytes()
        assert first == summarize(KEYS, structure, domain_key=two).to_bytes()
        assert first[12:] != summarize(KEYS, structure).to_bytes()[12:]


def test_epochs_wrap():
    assert is_newer(1, 0)
    assert not is_newer(0, 0)
    assert not is_newer(0, 1)
    assert is_newer(3, 0xFFFFFFFE)
    assert not is_newer(0xFFFFFFFE, 3)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("bad", [None, 5, b"bytes", "\ud800"])
def test_what_is_no_key_is_refused(structure, bad):
    made = summarize(["a"], structure)
    with pytest.raises(FilterError):
        made.add(bad)
    with pytest.raises(FilterError):
        made.add_many([bad])


def test_an_unknown_structure_is_named():
    with pytest.raises(FilterError, match="choose from ribbon"):
        summarize(KEYS, "xor")
    for structure in STRUCTURES:
        with pytest.raises(FilterError):
            summarize(KEYS, structure, 0)


def test_fill_cap_is_above_the_working_point():
    assert 0.5 < FILL_CAP < 1
    assert RibbonFilter.from_bytes(bytes.fromhex("d101000100000000000000000800000000000000") + b"\xff") is not None


def test_importing_the_package_compiles_nothing():
    code = "import sys, rookery.filters; print('numba' in sys.modules, 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


def test_every_exported_name_exists():
    for name in rookery.filters.__all__:
        assert getattr(rookery.filters, name) is not None
    assert dir(rookery.filters) == sorted(rookery.filters.__all__)
    with pytest.raises(AttributeError, match="no attribute"):
        rookery.filters.nothing  # noqa: B018
