"""Bytes on the wire for E endpoints: every structure beside the full SEDP list and the information-theoretic floor.

The floor of a filter with false-positive rate ε is E·log2(1/ε) bits, at the rate that the structure itself has.
Payloads are means over several sets of endpoints; headers are shown apart. The SEDP list is the parameter lists of
DATA(w) and DATA(r) as `rookery.rtps` writes them, without RTPS and UDP headers and without the type information that
other vendors add.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

from rookery.filters import STRUCTURES, BloomTree, CuckooFilter, endpoint_key, equations, summarize
from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.identity import Guid

__all__ = ["ENDPOINTS", "endpoints", "payload_and_rate", "report", "structures"]

ENDPOINTS = (10, 50, 100, 500, 1000, 5000)
TARGET = 1.05
_SETS = 5


def endpoints(count: int, number: int) -> list[tuple[str, str, str]]:
    """Return `count` endpoints (kind, topic, type) of set `number`."""
    return [
        ("W" if i % 2 else "R", f"rt/fleet{number}/robot/topic_{i}", f"robot_msgs::msg::dds_::Type{i % 40}_")
        for i in range(count)
    ]


def keys_of(listed: list[tuple[str, str, str]]) -> list[str]:
    """Return the keys that a summary hashes."""
    return [endpoint_key(kind=kind, topic=topic, type_name=name) for kind, topic, name in listed]


def sedp_bytes(listed: list[tuple[str, str, str]]) -> int:
    """Return the bytes of the endpoints' own announcements."""
    total = 0
    for number, (kind, topic, name) in enumerate(listed):
        entity = number << 8 | (0x03 if kind == "W" else 0x04)
        total += len(EndpointAnnouncement(Guid(bytes(12), entity), topic, name).encode())
    return total


def patent(keys: list[str]) -> CuckooFilter:
    """Return the filter of seed 001 as written, after its transfers are done."""
    made = CuckooFilter.patent(log2_buckets=max(1, math.ceil(math.log2((5 * len(keys) + 1) / 8))))
    made.add_many(keys)
    return made


def tree_as_printed(keys: list[str]) -> BloomTree:
    """Return seed 000's tree with every node on the wire and one common m, sized for all keys at 3 %."""
    bits = equations.optimal_bit_count(n=len(keys), rate=0.03)
    made = BloomTree(
        namespace_size=4 * len(keys), bit_count=bits, hash_count=5, row_capacity=0, mode="paper", node_size=16
    )
    made.add_many(keys)
    return made


def structures(rate: float) -> dict[str, Callable[[list[str]], Any]]:
    """Return every structure of the table, by its label, at a design rate."""

    def sized(structure: str) -> Callable[[list[str]], Any]:
        return lambda keys: summarize(keys, structure, rate)

    labels = {
        "ribbon": "ribbon (default)",
        "golomb": "Golomb set",
        "cuckoo": "cuckoo, compressed",
        "bloom": "Bloom",
        "blocked": "blocked Bloom",
        "tree": "Bloom tree, own rows (s × m)",
    }
    table = {label: sized(structure) for structure, label in labels.items() if structure in STRUCTURES}
    table["CCF, seed 001 (8-bit slots)"] = patent
    table["DBCT, seed 000 (all nodes, one m)"] = tree_as_printed
    return table


def payload_and_rate(make: Callable[[list[str]], Any], count: int, *, sets: int = _SETS) -> tuple[float, float, int]:
    """Return (mean payload bytes, mean rate, header bytes) over several sets of endpoints."""
    payloads, rates, headers = [], [], []
    for number in range(sets):
        made = make(keys_of(endpoints(count, number)))
        payload = made.size_in_bits / 8
        payloads.append(payload)
        rates.append(made.expected_false_positive_rate)
        headers.append(len(made.to_bytes()) - math.ceil(payload))
    return statistics.mean(payloads), statistics.mean(rates), round(statistics.mean(headers))


def report() -> list[str]:
    """Print the tables; return the targets that were missed."""
    rate, missed = 1 / 128, []
    print(f"\nBytes on the wire for E endpoints, payload without header; design rate 1/128 = {rate:.2%}")
    print(f"  {'E':<36}" + "".join(f"{count:>11,}" for count in ENDPOINTS) + f"{'header':>9}")
    print(f"  {'SEDP list (parameter lists)':<36}" + "".join(f"{sedp_bytes(endpoints(e, 0)):>11,}" for e in ENDPOINTS))
    rates, over = {}, {}
    for label, make in structures(rate).items():
        cells = []
        for count in ENDPOINTS:
            sets = 1 if "tree" in label or "DBCT" in label else _SETS  # a tree is slow to build and its size steady
            payload, measured, header = payload_and_rate(make, count, sets=sets)
            cells.append(payload)
            rates[label, count] = measured
            floor = count * math.log2(1 / measured) / 8 if measured else math.inf
            over[label, count] = payload / floor
        print(f"  {label:<36}" + "".join(f"{payload:>11,.0f}" for payload in cells) + f"{header:>9}")
    floors = "".join(f"{count * math.log2(1 / rate) / 8:>11,.0f}" for count in ENDPOINTS)
    print(f"  {'floor at 1/128':<36}" + floors)
    print("\n  False-positive rate given the contents")
    for label in structures(rate):
        print(f"  {label:<36}" + "".join(f"{rates[label, count]:>11.3%}" for count in ENDPOINTS))
    print("\n  Payload / floor at the structure's own rate (bits per key and halving of the rate)")
    for label in structures(rate):
        print(f"  {label:<36}" + "".join(f"{over[label, count]:>11.3f}" for count in ENDPOINTS))
    for count in ENDPOINTS:
        if count >= 50 and over["ribbon (default)", count] > TARGET:
            missed.append(f"ribbon payload at {count}: {over['ribbon (default)', count]:.3f} × floor > {TARGET}")
    return missed
