"""Labels keep the order of texts through any insertions, and move their bounds along when a gap is full."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins import labels as twin

import rookery
from rookery.matching import ENGINES
from rookery.matching.label_kernels import around_texts
from rookery.matching.labels import Labels, moved

TEXTS = st.lists(st.text(alphabet="abé\U0001f600", max_size=5), max_size=12)


def check(labels: Labels) -> None:
    """Texts and labels ascend together, with room for a code on either side of each label."""
    assert labels.texts == sorted(set(labels.texts))
    gaps = np.diff(np.array(labels.values, np.int64))
    assert (gaps > 2).all() or not len(gaps)
    assert [labels[text] for text in labels.texts] == labels.values


@settings(max_examples=150)
@given(st.lists(TEXTS, max_size=6), TEXTS)
def test_codes_stand_as_the_texts_stand(batches: list[list[str]], asked: list[str]) -> None:
    labels = Labels()
    for batch in batches:
        labels, _ = labels.insert(batch)
        check(labels)
    labels = labels.in_order()
    for text in asked:
        code = labels.code(text)
        for known in labels.texts:
            assert (text < known) == (code < labels[known])
            assert (text == known) == (code == labels[known])
    assert labels.codes(pa.array([*asked, None], pa.string()), -7).tolist() == [*map(labels.code, asked), -7]


@given(TEXTS, st.lists(st.one_of(st.none(), st.text(alphabet="abé", max_size=3)), max_size=40), st.booleans())
def test_a_column_of_any_kind_is_looked_up_as_text_by_text(
    known: list[str], asked: list[str | None], ordered: bool
) -> None:
    labels = Labels()
    labels, _ = labels.insert(known)
    labels = labels.in_order() if ordered else labels
    expected = [-7 if text is None else labels.code(text) for text in asked]
    for few in (4096, 3, 1):  # by halves, by halves some at a time, by Arrow
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("rookery.matching.labels._FEW_TEXTS", few)
            patch.setattr("rookery.matching.labels._SHORT", 0 if few == 3 else 1 << 30)
            for kind in (pa.string(), pa.large_string()):
                column = pa.array(asked, kind)
                assert labels.codes(column, -7).tolist() == expected
                assert labels.codes(pa.concat_arrays([column, column]).slice(len(asked)), -7).tolist() == expected
    more = [f"{text}+" for text in known]
    labels, _ = labels.insert(more)  # the next look-up must see them
    assert labels.codes(pa.array(more * 8, pa.string()), -7).tolist() == [labels[text] for text in more] * 8


@given(TEXTS, TEXTS, st.data())
def test_the_kernel_equals_its_twin(known: list[str], asked: list[str], data: st.DataObject) -> None:
    def laid_out(texts: list[str]) -> tuple[Any, Any]:
        whole = [text.encode() for text in texts]
        starts = np.cumsum([0, *map(len, whole)], dtype=np.int32)
        return np.frombuffer(b"".join(whole) + b"\0", np.uint8), starts

    ordered = sorted(set(known))
    labels = np.array(range(10, 10 + len(ordered)), np.int64)
    before = data.draw(st.integers(0, 30))  # what other texts have said
    found = [np.full(len(asked), fill, np.int64) for fill in (-1, before)]
    plain = [one.copy() for one in found]
    around_texts(*laid_out(asked), *laid_out(ordered), labels, *found)
    twin.around_texts(*laid_out(asked), *laid_out(ordered), labels, *plain)
    assert [one.tolist() for one in found] == [one.tolist() for one in plain]


@settings(max_examples=150)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.data())
def test_labels_stay_as_they_are_when_others_are_made_of_them(batches: list[list[str]], data: st.DataObject) -> None:
    """Each state of the labels answers as it did, whatever was inserted into it or taken from it since."""
    states = [Labels()]
    answers: list[dict[str, int]] = [{}]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rookery.matching.labels._FEW", 1)
        for batch in batches:
            before = data.draw(st.sampled_from(states))  # from any of them: two may go on from one
            labels, _ = before.insert(batch)
            if data.draw(st.booleans()) and len(labels):
                kept = data.draw(st.sets(st.sampled_from(labels.texts)))
                bounds = [[labels[text] + data.draw(st.integers(-1, 1))] * 2 for text in sorted(kept)]
                labels = labels.kept(np.array(bounds, np.int64).reshape(-1, 2))
                assert labels.texts == sorted(kept)
            states.append(labels)
            answers.append({text: labels[text] for text in labels.texts})
            check(labels)
        for labels, answer in zip(states, answers, strict=True):
            assert {text: labels[text] for text in labels.texts} == answer


@pytest.mark.parametrize("way", ["up", "down", "between", "prefixes", "inward"])
def test_a_full_gap_spreads_all_labels_and_tells_where_they_went(way: str) -> None:
    """Insert always into the same gap: sooner or later it is full, and old bounds must follow their texts."""
    labels = Labels()
    labels, _ = labels.insert(["a", "z"])
    tracked: dict[str, int] = {text: labels[text] for text in ("a", "z")}
    spreads = 0
    for step in range(300):
        text = {
            "up": f"z{step:04}",
            "down": f"A{999 - step:04}",
            "between": f"b{step:04}",
            "prefixes": "a" * (step + 2),
            "inward": "m" * (step // 2) + "az"[step % 2],
        }[way]
        labels, moves = labels.insert([text])
        check(labels)
        if moves is not None:
            spreads += 1
            old, new = moves
            assert old == sorted(old)
            assert new == sorted(new)
            for offset in (-1, 0, 1):
                bounds = np.array([[tracked[one] + offset, tracked[one] + offset] for one in tracked], np.int64)
                after = moved(bounds, old, new)
                assert [row[0] - offset for row in after.tolist()] == [labels[one] for one in tracked]
            tracked = {one: labels[one] for one in tracked}
        tracked[text] = labels[text]
    assert all(labels[one] == label for one, label in tracked.items())
    assert bool(spreads) == (way == "inward")  # texts in order find room


def test_texts_in_order_never_fill_a_gap() -> None:
    """Ten runs at once, up and down, into the gaps of a few texts, beside single ones in other gaps."""
    labels, _ = Labels().insert([f"{kind}{number}" for number in range(10) for kind in "st"])
    random = Random(4)
    for number in range(6_000):
        run = number % 10
        count = number if run % 2 else 10_000 - number
        labels, moves = labels.insert([f"s{run}-{count:06}"])
        assert moves is None
        if number % 50 == 0:
            labels, moves = labels.insert([f"t{random.randrange(10)}-{random.random()}"])
            assert moves is None
    check(labels)
    assert len(labels.parts) < 12


def test_bounds_that_are_no_labels_stay() -> None:
    ends = np.array([[-(2**63) + 1, 2**63 - 1]], np.int64)
    assert moved(ends, [0, 1000], [5, 99]).tolist() == ends.tolist()
    assert moved(ends, [], []).tolist() == ends.tolist()
    null = np.array([[-(2**63), -(2**63)]], np.int64)
    assert moved(null, [0, 50], [1, 7]).tolist() == null.tolist()


def test_labels_come_back_as_they_were() -> None:
    labels, _ = Labels().insert(["b", "a", "c"])
    twin = Labels.restore(list(labels.texts), list(labels.values), True)
    assert [twin[text] for text in "abc"] == [labels[text] for text in "abc"]
    assert len(twin) == 3
    assert twin.code("bb") == labels["b"] + 1


def test_without_order_an_unknown_text_equals_none() -> None:
    labels, _ = Labels().insert(["a", "b"])
    assert labels.code("zzz") not in labels.values


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "scan"])
def test_a_set_survives_the_spreading_of_its_labels(engine: str) -> None:
    """Two hundred subscriptions whose texts crowd into one gap, each found again after every move."""
    schema = rookery.Schema(s=str, n=int)
    fast, scan = rookery.matcher(schema, engine=engine), rookery.matcher(schema, engine="scan")
    random = Random(3)
    texts = ["m" * length for length in range(1, 120)]
    shapes = [
        "s IS NULL OR s = '{}'",
        "s > '{}'",
        "s = '{}'",
        "s <= '{}' AND n > 3",
        "s LIKE '{}%'",
        "s <> '{}'",
        "s IN ('{}', 'q')",
    ]
    for place, text in enumerate(texts):
        where = random.choice(shapes).format(text)
        fast.add(place, where)
        scan.add(place, where)
    for length in (0, 1, 2, 3, 30, 31, 60, 118, 119, 130):
        for tail in ("", "a", "z"):
            event = {"s": "m" * length + tail, "n": 4}
            assert fast.match(event) == scan.match(event), event
    assert fast.match({"s": None, "n": 4}) == scan.match({"s": None, "n": 4}) != []
