"""Samples of random types, with Cyclone's serializer as the oracle: the same octets, and each reads the other's."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from rookery.rtps.cdr import decode_sample, encode_key, encode_sample
from rookery.rtps.qos import XCDR1, XCDR2
from rookery.rtps.types import Type

pytest.importorskip("cyclonedds", reason="cyclonedds is not installed: pip install cyclonedds==11.0.1")

from .random_types import cyclone_type, random_struct
from .random_values import cyclone_value, plain_value, random_value


def compare(count: int, seed: int) -> None:
    dice = random.Random(seed)
    for number in range(count):
        of = random_struct(dice)
        value = random_value(dice, of)
        made: dict[Type, Any] = {}
        kind = cyclone_type(of, made)
        theirs = cyclone_value(of, value, made)
        for representation in (XCDR1, XCDR2):
            octets = theirs.serialize(use_version_2=representation == XCDR2)
            ours = encode_sample(of, value, representation=representation)
            # Cyclone leaves the padding, and saying how much it is, to whoever frames the payload.
            shown = (number, representation, of, value, ours.hex(), octets.hex())
            assert ours[:3] == octets[:3], shown
            assert ours[4 : len(ours) - ours[3]] == octets[4:], shown
            framed = bytes((*octets[:3], -len(octets) % 4)) + octets[4:] + bytes(-len(octets) % 4)
            assert decode_sample(of, framed) == value, shown
            assert plain_value(of, kind.deserialize(ours)) == value, shown
            big = encode_sample(of, value, little=False, representation=representation)
            assert decode_sample(of, big) == value, shown
            if of.is_keyed:
                key = theirs.serialize_key(use_version_2=representation == XCDR2)
                mine = encode_key(of, value, representation=representation)
                assert mine[4 : len(mine) - mine[3]] == key[4:], shown


def test_200_types_round_trip_in_both_versions() -> None:
    compare(200, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(0)
def test_10_000_types_round_trip_in_both_versions() -> None:
    compare(10_000, seed=2)


def test_the_octets_of_an_older_or_newer_appendable_type_are_read_as_cyclone_reads_them() -> None:
    from rookery.rtps.types import CdrStruct, Extensibility

    dice = random.Random(3)
    compared = 0
    while compared < 200:
        of = replace(random_struct(dice), extensibility=dice.choice([Extensibility.APPENDABLE, Extensibility.MUTABLE]))
        if len(of.fields) < 2:
            continue
        shorter: CdrStruct = replace(of, fields=of.fields[: dice.randint(1, len(of.fields) - 1)])
        if any(field.key for field in of.fields[len(shorter.fields) :]):
            continue
        writer, reader = (of, shorter) if dice.random() < 0.5 else (shorter, of)
        octets = encode_sample(writer, random_value(dice, writer), representation=XCDR2)
        theirs = plain_value(reader, cyclone_type(reader).deserialize(octets))
        assert decode_sample(reader, octets) == theirs, (reader, writer)
        compared += 1
