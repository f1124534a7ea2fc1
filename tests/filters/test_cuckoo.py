"""The compressed cuckoo filter: golden vectors byte for byte, twins, the patent's walk-through, growth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.twins.cuckoo import PlainTable

from rookery.errors import FilterError, UnknownKeyError
from rookery.filters.cuckoo import CuckooFilter, codec, kernels, plain
from rookery.filters.cuckoo.table import GENERATOR_SEED, CuckooTable
from rookery.filters.hashing import DomainKey, KeyHasher, endpoint_key
from rookery.papers.seed_001.runs import decode_runs, encode_runs


def topic(name: str) -> str:
    return endpoint_key(kind="W", topic=name, type_name="ShapeType")


def table_hex(table: CuckooTable | None) -> str | None:
    return None if table is None else table.slots.astype(np.uint8).tobytes().hex()


def test_vectors_of_indices(golden):
    case = golden("01_hash")
    for entry in case["keys"]:
        for seed in ("seed0", "seed7"):
            value = int(entry[seed]["h"], 16)
            tag = plain.tag_of(value, 8)
            assert tag == int(entry[seed]["fp"], 16)
            for log2 in (1, 3, 10):
                first, offset, second = entry[seed][f"lg{log2}"]
                assert value & (1 << log2) - 1 == first
                assert plain.bucket_offset(tag, 8, 1 << log2) == offset
                assert first ^ offset == second
    for name, offsets in case["off_tables"].items():
        buckets = 1 << int(name.removeprefix("lg"))
        assert [plain.bucket_offset(0x80 | tag, 8, buckets) for tag in range(128)] == offsets


def test_vectors_of_the_run_length_code(golden):
    case = golden("02_rle_codec")
    for entry in case["cases"]:
        slots = np.frombuffer(bytes.fromhex(entry["slots_hex"]), np.uint8).astype(np.uint16)
        code = encode_runs(slots.tolist(), 8)
        assert code == entry["bits"].replace(" ", ""), entry["name"]
        out = np.zeros(64 * 9, np.uint8)
        bits = kernels.encode_runs(slots, 8, out)
        assert bits == entry["nbits"]
        assert out[: (bits + 7) // 8].tobytes().hex() == entry["bytes_hex"]
        assert bits <= 9 * entry["x"] + 4 * entry["y"] == entry["worst_bits_9x_4y"]
        encoding, _, payload = codec.encode_slots(slots, 8)
        assert (encoding, len(payload) <= entry["raw_bytes"]) == (entry["use"] == "rle", True)
        decoded = codec.decode_slots(
            bytes.fromhex(entry["bytes_hex"]), encoding=1, bit_count=bits, slot_count=entry["nslots"], width=8
        )
        assert decoded.tolist() == slots.tolist() == decode_runs(code, 8, entry["nslots"])
    for entry in case["reject"]:
        payload = bytes.fromhex(entry["bytes_hex"])
        out = np.empty(entry["nslots"], np.uint16)
        fault = kernels.decode_runs(np.frombuffer(payload, np.uint8), entry["nbits"], 8, out)
        assert codec._FAULTS[fault] == entry["error"], entry["name"]
        code = "".join(f"{byte:08b}" for byte in payload)[: entry["nbits"]]
        with pytest.raises(FilterError, match=entry["error"]):
            decode_runs(code, 8, entry["nslots"])


def test_vectors_of_table_operations(golden):
    case = golden("03_table_ops")
    table = CuckooTable(log2_buckets=2, width=8)
    for step in case["steps"]:
        if step["op"] == "wire":
            wire = codec.encode([table], hasher=KeyHasher(seed=step["seed"]), epoch=step["epoch"], alternate=False)
            assert wire.hex() == step["wire_hex"]
            continue
        value = KeyHasher()(step["key"])
        ok = table.insert(value) if step["op"] == "insert" else table.delete(value)
        assert (ok, table_hex(table), table.count) == (step["ok"], step["table_hex"], step["n"])
        if "rng" in step:
            assert table.generator_state == int(step["rng"], 16)
    fill = case["fill_to_failure"]
    table = CuckooTable(log2_buckets=fill["lg"], width=8)
    index = 0
    while table.insert(KeyHasher()(endpoint_key(kind="W", topic=f"load/{index}", type_name="K"))):
        index += 1
    assert (index, table_hex(table)) == (fill["failing_index"], fill["table_hex"])
    assert (table.count, table.generator_state) == (fill["inserted_before_first_failure"], int(fill["rng"], 16))


def test_vectors_of_owner_and_migration(golden):
    case = golden("04_owner_migration")
    owner = CuckooFilter.patent(log2_buckets=2)
    for step in case["trace"]:
        verb, key = step["op"].split(" ")[0], step["op"].split(" ")[-1]
        if verb == "add":
            owner.add(key)
        elif verb == "remove":
            owner.remove(key)
        else:
            assert owner.announce().hex() == step["wire_hex"]
            assert owner.epoch == step["epoch"]
            received = CuckooFilter.from_bytes(bytes.fromhex(step["wire_hex"]))
            assert received.to_bytes().hex() == step["wire_hex"]
        new, old = owner.tables[0], owner.tables[1] if owner.is_migrating else None
        assert (new.log2_buckets, table_hex(new), new.count) == (step["cur_lg"], step["cur_hex"], step["n_cur"])
        assert (old and old.log2_buckets, table_hex(old)) == (step["old_lg"], step["old_hex"])
        assert (old.count if old else 0, owner.pointer) == (step["n_old"], step["ptr"])
    assert all(key in owner for key in case["live_keys"])
    assert {key: key in owner for key in case["final_queries"]} == case["final_queries"]


def test_vectors_of_the_container(golden):
    case = golden("05_wire")
    for name in ("good", "good_raw"):
        decoded = CuckooFilter.from_bytes(bytes.fromhex(case[name]))
        assert table_hex(decoded.tables[0]) == case["good_table_hex"]
        assert (decoded.epoch, decoded.hasher.seed) == (case["epoch"], case["seed"])
    assert decoded.to_bytes().hex() == case["good"]
    for entry in case["reject"]:
        with pytest.raises(FilterError, match=entry["error"]):
            CuckooFilter.from_bytes(bytes.fromhex(entry["wire_hex"]))


def test_patent_walk_through_in_the_smallest_table(golden):
    events = golden("10_patent_walkthrough")["events"]
    a = CuckooFilter.patent(log2_buckets=1)

    def b_finds(wire: bytes) -> dict[str, bool]:
        received = CuckooFilter.from_bytes(wire)
        return {name: topic(name) in received for name in ("T1", "T3", "T5")}

    for number, added in enumerate((["T1", "T2", "T3"], ["T4"], ["T5"], [])):
        for name in added:
            a.add(topic(name))
        wire = a.announce()
        if number == 3:
            while a.is_migrating:
                wire = a.announce()
        assert wire.hex() == events[number]["wire_hex"], events[number]["step"]
        assert wire[2] == events[number].get("nfilters", 1)
        assert b_finds(wire) == events[number]["B"]


def test_patent_walk_through_as_told_with_t5_as_the_trigger():
    a = CuckooFilter.patent(log2_buckets=2)
    for filler in ("a", "b"):  # two more endpoints of A, so that four topics leave the table just below 80 %
        a.add(topic(filler))
    for name in ("T1", "T2", "T3", "T4"):
        a.add(topic(name))
    wire = a.announce()
    received = CuckooFilter.from_bytes(wire)
    assert wire[2] == 1
    assert [topic(name) in received for name in ("T1", "T3", "T5")] == [True, True, False]
    a.add(topic("T5"))
    assert a.is_migrating
    wire = a.announce()
    assert wire[2] == 2
    received = CuckooFilter.from_bytes(wire)
    assert [topic(name) in received for name in ("T1", "T3", "T5")] == [True, True, True]
    announcements = 0
    while a.is_migrating:
        received = CuckooFilter.from_bytes(a.announce())
        announcements += 1
        assert all(topic(name) in received for name in ("T1", "T2", "T3", "T4", "T5"))
    assert announcements == 6  # seven fingerprints, one per announcement; the first moved above
    assert received.to_bytes()[2] == 1


slot_lists = st.integers(8, 16).flatmap(
    lambda width: st.tuples(
        st.just(width),
        st.integers(1, 5).flatmap(
            lambda log2: st.lists(
                st.one_of(st.just(0), st.just(0), st.integers(1 << (width - 1), (1 << width) - 1)),
                min_size=2 << log2,
                max_size=2 << log2,
            )
        ),
    )
)


@given(slot_lists)
def test_codec_agrees_with_its_twin_and_round_trips(drawn):
    width, slots = drawn
    array = np.array(slots, np.uint16)
    encoding, bits, payload = codec.encode_slots(array, width)
    code = encode_runs(slots, width)
    if encoding:
        assert "".join(f"{byte:08b}" for byte in payload)[:bits] == code
    else:
        assert (len(code) + 7) // 8 >= len(payload)
    decoded = codec.decode_slots(payload, encoding=encoding, bit_count=bits, slot_count=len(slots), width=width)
    assert decoded.tolist() == slots
    alternated = plain.boustrophedon(array)
    assert np.array_equal(np.sort(alternated.reshape(-1, 2)), np.sort(array.reshape(-1, 2)))


@given(st.lists(st.integers(0, 2**64 - 1), max_size=60), st.integers(1, 4), st.integers(8, 16))
def test_insertion_agrees_with_its_twin(hashes, log2, width):
    table = CuckooTable(log2_buckets=log2, width=width)
    twin = PlainTable(bucket_count=1 << log2, width=width, state=GENERATOR_SEED)
    for value in hashes:
        assert table.insert(value) == twin.insert(value)
        assert table.slots.tolist() == twin.slots
        assert table.shadow.tolist() == twin.shadow
        assert table.generator_state == twin.state


@given(st.lists(st.integers(0, 2**64 - 1), max_size=40), st.integers(8, 11), st.integers(1, 4))
def test_exact_rate_counts_matching_pairs(hashes, width, log2):
    table = CuckooTable(log2_buckets=log2, width=width)
    for value in hashes:
        table.insert(value)
    matching = sum(
        table.contains_hash(fingerprint << (65 - width) | bucket)
        for fingerprint in range(1 << (width - 1))
        for bucket in range(1 << log2)
    )
    assert table.expected_false_positive_rate == matching / (1 << (width - 1 + log2))


def test_alternating_order_saves_bits_and_loses_nothing():
    keys = [topic(f"k{i}") for i in range(400)]
    straight, alternating = CuckooFilter(log2_buckets=10, alternate_order=False), CuckooFilter(log2_buckets=10)
    straight.add_many(keys)
    alternating.add_many(keys)
    assert alternating.size_in_bits < straight.size_in_bits
    assert CuckooFilter.from_bytes(alternating.to_bytes()).contains_many(keys).all()


def test_production_pace_moves_a_sixteenth():
    owner = CuckooFilter(log2_buckets=8)
    keys = [topic(f"k{i}") for i in range(410)]
    for key in keys:
        owner.add(key)
    assert owner.is_migrating
    announcements = 0
    while owner.is_migrating:
        assert CuckooFilter.from_bytes(owner.announce()).contains_many(keys).all()
        announcements += 1
    assert announcements <= 16


def test_spare_alternates_between_two_objects():
    owner = CuckooFilter(log2_buckets=2)
    seen, added = set(), 0
    for _ in range(4):
        while not owner.is_migrating:
            owner.add(topic(f"k{added}"))
            added += 1
        while owner.is_migrating:
            owner.announce()
        seen.add(id(owner.tables[0]))
    assert len(seen) == 2
    assert all(topic(f"k{i}") in owner for i in range(added))


def test_idle_table_is_halved():
    owner = CuckooFilter(log2_buckets=6)
    owner.add(topic("only"))
    for _ in range(16 * 7):
        assert topic("only") in CuckooFilter.from_bytes(owner.announce())
    assert owner.tables[0].log2_buckets == 1
    faithful = CuckooFilter.patent(log2_buckets=6)
    for _ in range(40):
        faithful.announce()
    assert faithful.tables[0].log2_buckets == 6


def test_overflow_while_migrating_rebuilds_once_with_every_key():
    owner = CuckooFilter(log2_buckets=1, moves_per_announcement=0, slot_bits=8)
    keys = [topic(f"k{i}") for i in range(300)]
    for number, key in enumerate(keys):  # nothing ever moves, so the new table must overflow
        owner.add(key)
        assert all(earlier in owner for earlier in keys[: number + 1])
    assert len(owner) == len(keys)


def test_references_and_unknown_keys():
    owner = CuckooFilter()
    owner.add("a")
    owner.add_many(["a", "b", "a"])
    assert len(owner) == 2
    owner.remove("a")
    owner.remove("a")
    assert "a" in owner
    owner.remove("a")
    assert "a" not in owner
    with pytest.raises(UnknownKeyError, match="only keys that were added"):
        owner.remove("a")
    with pytest.raises(KeyError):
        owner.remove("never")


def test_a_received_filter_is_read_only():
    owner = CuckooFilter()
    owner.add("a")
    received = CuckooFilter.from_bytes(owner.to_bytes())
    for change in (lambda: received.add("b"), lambda: received.remove("a"), lambda: received.add_many(["b"])):
        with pytest.raises(FilterError, match="read only"):
            change()
    with pytest.raises(FilterError, match="read only"):
        received.announce()


def test_keyed_filter_needs_its_domain_key():
    domain_key = DomainKey.derive(bytes(range(16)))
    owner = CuckooFilter(domain_key=domain_key, seed=4)
    owner.add_many([topic(f"k{i}") for i in range(50)])
    wire = owner.to_bytes()
    with pytest.raises(FilterError, match="keyed"):
        CuckooFilter.from_bytes(wire)
    assert CuckooFilter.from_bytes(wire, domain_key=domain_key).contains_many([topic(f"k{i}") for i in range(50)]).all()
    outsider = CuckooFilter.from_bytes(wire, domain_key=DomainKey.derive(bytes(16)))
    assert outsider.contains_many([topic(f"k{i}") for i in range(50)]).sum() < 5


def test_bulk_and_single_additions_hold_the_same_keys():
    keys = [topic(f"k{i}") for i in range(1000)]
    bulk = CuckooFilter()
    bulk.add_many(keys[:10])
    bulk.add_many(keys[10:])
    assert bulk.contains_many(keys).all()
    assert len(bulk) == 1000
    assert bulk.tables[0].log2_buckets == 10
    assert not bulk.is_migrating


@pytest.mark.parametrize(("log2", "width"), [(0, 8), (25, 8), (3, 7), (3, 17)])
def test_impossible_sizes_are_refused(log2, width):
    with pytest.raises(FilterError):
        CuckooFilter(log2_buckets=log2, slot_bits=width)
