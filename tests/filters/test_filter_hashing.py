"""XXH3 three ways (kernel, plain twin, C library), keyed hashing, and the reading of Arrow buffers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st
from tests.twins.xxh3 import xxh3_64

from rookery.errors import FilterError
from rookery.filters.hashing import DomainKey, KeyHasher, endpoint_key
from rookery.filters.hashing.plain import DEFAULT_SECRET, fmix64

LENGTHS = [*range(260), 1000, 1023, 1024, 1025, 1087, 1088, 1089, 5000]
PATTERN = "".join(chr(33 + (7 * i * i + i) % 90) for i in range(max(LENGTHS)))


def test_vectors_of_hash(golden):
    case = golden("01_hash")
    for value, expected in case["fmix64"].items():
        assert fmix64(int(value, 16)) == int(expected, 16)
    for entry in case["keys"]:
        key = bytes.fromhex(entry["key_hex"]).decode()
        assert xxh3_64(key.encode()) == int(entry["xxh3_64"], 16)
        for seed in (0, 7):
            expected = int(entry[f"seed{seed}"]["h"], 16)
            assert KeyHasher(seed=seed)(key) == expected
            assert KeyHasher(seed=seed).many([key]).tolist() == [expected]


def test_every_length_agrees_with_the_library_and_the_twin():
    keys = [PATTERN[:length] for length in LENGTHS]
    assert KeyHasher().many(keys).tolist() == [xxhash.xxh3_64_intdigest(key.encode()) for key in keys]
    assert [xxh3_64(key.encode()) for key in keys] == [xxhash.xxh3_64_intdigest(key.encode()) for key in keys]


def test_every_length_agrees_under_a_domain_key():
    domain_key = DomainKey.derive(b"sixteen bytes or more", domain=3)
    keys = [PATTERN[:length] for length in LENGTHS]
    twin = [fmix64(xxh3_64(key.encode(), domain_key.secret) ^ fmix64(9)) for key in keys]
    hasher = KeyHasher(seed=9, domain_key=domain_key)
    assert hasher.many(keys).tolist() == twin
    assert [hasher(key) for key in keys] == twin


@given(st.lists(st.text(max_size=40), max_size=30), st.integers(0, 2**32 - 1), st.booleans())
def test_batch_and_single_agree(keys, seed, keyed):
    hasher = KeyHasher(seed=seed, domain_key=DomainKey.derive(bytes(range(32))) if keyed else None)
    assert hasher.many(keys).tolist() == [hasher(key) for key in keys]


def test_domains_and_keys_give_unrelated_secrets():
    first, second = (DomainKey.derive(b"sixteen bytes or more", domain=domain) for domain in (0, 1))
    other = DomainKey.derive(b"sixteen bytes or more!")
    assert len({first.secret, second.secret, other.secret, DEFAULT_SECRET}) == 4
    assert all(len(key.secret) == 192 for key in (first, second, other))
    assert first.secret.hex() not in repr(first)


def test_a_short_pre_shared_key_is_refused():
    with pytest.raises(FilterError, match="at least 16 bytes"):
        DomainKey.derive(b"short")


@pytest.mark.parametrize(
    "make",
    [
        lambda keys: keys,
        lambda keys: pa.array(keys, pa.string()),
        lambda keys: pa.array(keys, pa.large_string()),
        lambda keys: pa.array(keys, pa.string_view()),
        lambda keys: pa.array(keys, pa.string()).dictionary_encode(),
        lambda keys: pa.chunked_array([keys[:2], [], keys[2:]], pa.string()),
        lambda keys: pa.array(["before", *keys, "after"]).slice(1, len(keys)),
        lambda keys: iter(keys),
    ],
)
def test_every_arrow_form_of_the_same_keys_hashes_alike(make):
    keys = ["", "a", "rt/chatter", "温度", "x" * 300]
    assert KeyHasher().many(make(keys)).tolist() == [xxhash.xxh3_64_intdigest(key.encode()) for key in keys]


def test_empty_batches():
    for empty in ([], pa.array([], pa.string()), pa.chunked_array([], pa.string())):
        assert KeyHasher().many(empty).tolist() == []
    assert KeyHasher().many(["", ""]).tolist() == [KeyHasher()("")] * 2


@pytest.mark.parametrize("bad", [pa.array(["a", None]), pa.array([1, 2]), [b"\xff"], [1], ["a", None]])
def test_what_is_no_string_is_refused(bad):
    with pytest.raises(FilterError):
        KeyHasher().many(bad)


def test_endpoint_key():
    assert endpoint_key(kind="W", topic="T1", type_name="ShapeType") == "W\x1fT1\x1fShapeType"
    with pytest.raises(FilterError, match="'W' for a writer"):
        endpoint_key(kind="X", topic="t", type_name="t")
    with pytest.raises(FilterError, match="32-bit"):
        KeyHasher(seed=-1)


def test_hashers_compare_by_what_they_compute():
    assert KeyHasher(seed=1) == KeyHasher(seed=1) != KeyHasher(seed=2)
    assert KeyHasher() != KeyHasher(domain_key=DomainKey.derive(bytes(16)))
    assert len({KeyHasher(), KeyHasher(), KeyHasher(seed=5)}) == 2
    assert KeyHasher().secret.dtype == np.uint8
