"""The layered Golomb set: vectors, the plain twin, layers, and removal on both sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins import golomb as plain

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.golomb import GolombSet, kernels
from rookery.filters.golomb.codec import decode_values, encode_values
from rookery.filters.hashing import endpoint_key


def topics(count: int, prefix: str = "T") -> list[str]:
    return [endpoint_key(kind="W", topic=f"{prefix}{i}", type_name="ShapeType") for i in range(1, count + 1)]


def to_bytes(code: str) -> bytes:
    return bytes(int(code[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(code), 8))


def test_vectors_of_the_layered_golomb_set(golden):
    for case in golden("12_layered_golomb")["cases"]:
        owner = GolombSet(remainder_bits=case["r"])
        owner.add_many(topics(case["n"]))
        values = owner.values.tolist()
        assert values == case["values"]
        assert owner.value_bits == case["q"] + case["r"]
        base = plain.encode_gaps(values, drop=case["r"] - case["r0"], rice=case["r0"])
        layers = plain.layer_bits(values, remainder_bits=case["r"], rice=case["r0"])
        assert (len(base), to_bytes(base).hex()) == (case["base_bits"], case["base_hex"])
        assert [to_bytes(layer).hex() for layer in layers] == case["layers_hex"]
        assert owner.size_in_bits == case["total_bits"] == len(base) + sum(map(len, layers))
        assert owner.to_bytes()[20:] == to_bytes(base + "".join(layers))
        assert 1 - (1 - 0.5 ** (case["q"] + case["r"])) ** case["n"] == pytest.approx(case["fpr"])


@given(st.lists(st.integers(0, 2**20 - 1), max_size=50), st.integers(0, 6), st.integers(0, 4))
def test_codec_agrees_with_its_twin_and_round_trips(values, rice, drop):
    values.sort()
    array = np.array(values, np.uint64)
    bits, payload = encode_values(array, drop=drop, rice=rice)
    code = plain.encode_gaps(values, drop=drop, rice=rice)
    tail = "".join("".join(str(value >> place & 1) for value in values) for place in range(drop - 1, -1, -1))
    assert bits == len(code + tail)
    assert payload == to_bytes(code + tail)
    decoded, end = decode_values(payload, count=len(values), value_bits=20, drop=drop, rice=rice)
    assert (decoded.tolist(), end) == (values, bits)
    assert plain.decode_gaps(code, rice=rice, count=len(values)) == ([value >> drop for value in values], "")


@given(st.binary(max_size=20), st.integers(0, 5), st.integers(0, 12))
def test_decoders_agree_on_any_bytes(data, rice, count):
    values = np.empty(count, np.uint64)
    end = kernels.decode_gaps(np.frombuffer(data, np.uint8), 0, rice, np.uint64(2**40), values)
    code = "".join(f"{byte:08b}" for byte in data)
    try:
        expected, rest = plain.decode_gaps(code, rice=rice, count=count)
    except FilterError:
        assert end == -1
    else:
        assert (values.tolist(), end) == (expected, len(code) - len(rest))


@pytest.mark.parametrize("count", [0, 1, 2, 3, 64, 65, 500])
def test_batches_layers_and_single_questions_agree(count):
    owner = GolombSet(remainder_bits=9)
    owner.add_many(topics(count))
    asked = topics(count) + topics(2000, "absent")
    singles = [key in owner for key in asked]
    assert owner.contains_many(asked).tolist() == singles
    assert all(singles[:count])
    received = GolombSet.from_bytes(owner.to_bytes())
    assert received.contains_many(asked).tolist() == singles
    assert len(received) == count
    before = 1.1
    for kept in range(1, 10):
        less = GolombSet.from_bytes(owner.to_bytes(remainder_bits=kept))
        assert less.contains_many(topics(count)).all()
        assert less.expected_false_positive_rate <= min(before, 0.5**kept)
        before = less.expected_false_positive_rate


def test_owner_removes_and_receiver_forgets():
    owner = GolombSet(remainder_bits=16)
    owner.add_many([*topics(50), "T1"])
    owner.add("T1")
    received = GolombSet.from_bytes(owner.to_bytes())
    owner.remove("T1")
    assert "T1" in owner
    owner.remove("T1")
    assert "T1" not in owner
    with pytest.raises(UnknownKeyError):
        owner.remove("T1")
    received.forget("T1")
    assert "T1" not in received
    assert received.contains_many(topics(50)).all()
    with pytest.raises(UnknownKeyError):
        received.forget("T1")
    with pytest.raises(FilterError, match="remove"):
        owner.forget("T1")
    with pytest.raises(FilterError, match="read only"):
        received.add("a")
    assert GolombSet.from_bytes(received.to_bytes()).values.tolist() == received.values.tolist()


def test_a_shared_value_is_kept_until_its_last_copy_goes():
    """With few bits keys share values; forgetting one copy must not lose the other key."""
    owner = GolombSet(remainder_bits=1)
    owner.add_many(topics(64))
    received = GolombSet.from_bytes(owner.to_bytes())
    assert np.unique(received.values).size < 64
    left = topics(64)
    while left:
        received.forget(left.pop())
        assert received.contains_many(left).all()
    assert len(received) == 0


def test_size_is_below_the_documented_bound():
    for count in (50, 100, 500, 1000, 5000):
        owner = GolombSet(remainder_bits=7)
        owner.add_many(topics(count))
        rate = owner.expected_false_positive_rate
        assert owner.size_in_bits / count < -np.log2(rate) + 1.65


def test_wrong_use_is_refused():
    for bits in (0, 33):
        with pytest.raises(FilterError):
            GolombSet(remainder_bits=bits)
    with pytest.raises(FilterError, match="remainder bits"):
        GolombSet(remainder_bits=3).to_bytes(remainder_bits=4)
