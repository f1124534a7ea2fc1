"""The code of a text axis: the order of texts is kept, by row and by column, and common texts have their room."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.errors import SpaceError
from rookery.space.texts import LONGEST_KNOT, MOST_KNOTS, TextCode, least_text, spread, utf8_bytes

#: Texts that share long prefixes, that end early, and of every script.
TEXTS = st.one_of(
    st.text(max_size=12),
    st.text("ab\x00\x7fé", max_size=4),
    st.builds("https://example.org/{}{}".format, st.text("ab~ ", max_size=3), st.text(max_size=3)),
)
CODES = st.one_of(
    st.just(TextCode()),
    st.lists(TEXTS, max_size=40).map(TextCode.learn),
    st.lists(st.sampled_from(["a", "ab", "b", "zz", "é", ""]), min_size=1, max_size=40).map(TextCode.learn),
)


@given(CODES, st.lists(TEXTS, min_size=2))
def test_places_keep_the_order_of_texts(code: TextCode, texts: list[str]) -> None:
    ordered = sorted(texts)
    assert ordered == sorted(texts, key=utf8_bytes)
    places = [code.place(utf8_bytes(text)) for text in ordered]
    assert all(low <= high for low, high in pairwise(places))
    assert all(0 <= place <= 1 for place in places)
    assert code.place(b"") == 0


@given(CODES, st.lists(st.none() | TEXTS), st.sampled_from([pa.string(), pa.large_string()]), st.booleans())
def test_a_column_has_the_places_of_its_texts(
    code: TextCode, texts: list[str | None], kind: pa.DataType, encoded: bool
) -> None:
    array = pa.array(["before", *texts], kind)
    array = (array.dictionary_encode() if encoded else array)[1:]
    places = code.places(array)
    assert len(places) == len(texts)
    for text, place in zip(texts, places.tolist(), strict=True):
        assert text is None or place == code.place(utf8_bytes(text))


@given(CODES, TEXTS, TEXTS)
def test_the_least_text_at_a_place_divides_all_texts_as_the_place_does(code: TextCode, one: str, other: str) -> None:
    cut = (code.place(utf8_bytes(one)) + code.place(utf8_bytes(other))) / 2
    least = least_text(lambda text: code.place(text) >= cut)
    for text in (one, other, "", "\U0010ffff" * 20):
        assert (code.place(utf8_bytes(text)) >= cut) == (least is not None and utf8_bytes(text) >= least)


def test_without_a_sample_printable_texts_use_the_axis_evenly() -> None:
    code = TextCode()
    first = [code.place(bytes([byte])) for byte in range(0x20, 0x7F)]
    steps = np.diff(first)
    assert steps.max() / steps.min() == pytest.approx(1)
    assert first[-1] - first[0] > 0.8
    # What was: the first six bytes over 256⁶, so that ASCII lies below one half.
    assert code.place(b"zebra") > 0.75
    assert code.place("東京".encode()) < code.place("東北".encode()) < code.place("西安".encode()) < 1


def test_a_learned_code_gives_each_text_the_room_of_its_events() -> None:
    texts = ["ACME"] * 600 + ["BOLT"] * 100 + ["ZINC"] * 300
    code = TextCode.learn([*texts, None, ""])
    assert code.knots == ("ACME", "BOLT", "ZINC")
    below = [code.place(text) for text in (b"ACME", b"BOLT", b"ZINC")]
    assert below == pytest.approx([0.0, 0.6, 0.7], abs=0.01)
    assert below[0] < code.place(b"ACME.W") < below[1] < code.place(b"C") < below[2] < code.place(b"ZZ") < 1
    assert TextCode.of_values(["b", "a", "b"]).knots == ("a", "b")


def test_many_texts_are_thinned_out_and_the_common_ones_kept() -> None:
    generator = np.random.default_rng(1)
    rare = [f"id-{number:06}" for number in generator.integers(0, 1_000_000, 20_000)]
    common = ["id-5" * 40, "id-777777"]
    code = TextCode.learn(rare + common * 3000)
    assert 100 < len(code.knots) <= MOST_KNOTS
    assert {text[:LONGEST_KNOT] for text in common} <= set(code.knots)
    places = np.sort(code.places(pa.array(rare)))
    counts = np.histogram(places, bins=16, range=(0, 1))[0]
    assert np.median(counts) > 500, "the rare texts are spread over what the common ones leave"
    assert np.median(np.diff(places)) > 0


def test_a_prefix_that_all_texts_share_costs_no_room() -> None:
    texts = [f"https://example.org/very/long/path/{number:03}" for number in range(200)]
    places = [TextCode.learn(texts).place(utf8_bytes(text)) for text in texts]
    assert np.diff(places).min() > 0.004
    between = TextCode.learn(texts[::10])
    assert np.diff([between.place(utf8_bytes(text)) for text in texts[:191]]).min() > 0


@given(CODES)
def test_a_code_travels(code: TextCode) -> None:
    assert pickle.loads(pickle.dumps(code)) == code == TextCode(code.knots, code.shares)
    assert hash(TextCode(code.knots, code.shares)) == hash(code)


def test_bytes_are_spread_in_order() -> None:
    texts = [bytes([one, other]) for one in range(256) for other in (0, 31, 32, 126, 127, 255)]
    assert all(spread(low) <= spread(high) for low, high in pairwise(texts))
    assert spread(b"xab", 1) == spread(b"ab")


@pytest.mark.parametrize(
    ("knots", "shares"),
    [
        (("a",), ()),
        (("a", "b"), (0.5, 0.5)),
        (("a",), (0.0,)),
        (("a",), (1.0,)),
        (("b", "a"), (0.1, 0.2)),
        (("",), (0.5,)),
        (("a" * (LONGEST_KNOT + 1),), (0.5,)),
        (tuple(f"{number:03}" for number in range(300)), tuple((number + 1) / 302 for number in range(300))),
        (("a",), (float("nan"),)),
    ],
)
def test_a_code_that_is_none_is_refused(knots: tuple[str, ...], shares: tuple[float, ...]) -> None:
    with pytest.raises(SpaceError):
        TextCode(knots, shares)
