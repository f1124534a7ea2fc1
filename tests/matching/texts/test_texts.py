"""Patterns in texts: the kernels equal their twin, the index says what the patterns say, and one more rebuilds few."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.twins.texts import plain_find, plain_glob

import rookery
from rookery.matching.labels import LabelPart, Labels
from rookery.matching.texts.index import TextIndex, _buffers
from rookery.matching.texts.kernels import glob_holds
from rookery.matching.texts.patterns import Pattern, PatternTable, like_parts, regex_parts
from rookery.model.folding import folded, folded_column
from rookery.model.patterns import like_matcher
from rookery.model.regexes import regex_fault, regex_holds, required_literals
from rookery.model.texts import TextLeaf, like_pattern, pattern_tokens, text_key, text_leaves

PIECES = st.text(st.sampled_from("abcé%_\\😀\n"), max_size=9)
TEXTS = st.lists(st.none() | st.text(st.sampled_from("abcé😀\n%"), max_size=12), max_size=8)


@settings(max_examples=300)
@given(st.lists(PIECES, min_size=1, max_size=12), TEXTS)
def test_the_kernels_find_what_their_twin_finds(pieces: list[str], texts: list[str | None]) -> None:
    patterns: list[Pattern] = []
    for place, one in enumerate(pieces):
        patterns += like_parts(place, like_pattern(pattern_tokens(one)))
    table = PatternTable(patterns)
    pairs = table.find(*_buffers(pa.array(texts, pa.string())))
    assert {(int(pair) >> 32, int(pair) & 0xFFFFFFFF) for pair in pairs} == plain_find(texts, patterns)
    for place, one in enumerate(pieces):
        canonical = like_pattern(pattern_tokens(one))
        for text in texts:
            if text is not None:
                said = like_matcher(canonical, "\\").fullmatch(text) is not None
                mine = plain_find([text], [part for part in patterns if part.leaf == place])
                assert bool(mine) == said, (one, text)


@settings(max_examples=200)
@given(PIECES, st.text(st.sampled_from("abcé😀\n%"), max_size=12))
def test_a_glob_holds_where_its_twin_says(piece: str, text: str) -> None:
    tokens = tuple(
        token
        for wild, character in pattern_tokens(like_pattern(pattern_tokens(piece)))
        for token in ([256 if character == "_" else 257] if wild else character.encode())
    )
    data = np.frombuffer(text.encode() or b"\0", np.uint8)
    held = glob_holds(data, 0, len(text.encode()), np.array(tokens or (0,), np.int16), 0, len(tokens))
    assert held == plain_glob(text, tokens)


def test_a_glob_that_fails_many_times_takes_no_time_that_grows_with_its_wildcards() -> None:
    assert not plain_glob("a" * 40, like_parts(0, "%a" * 12 + "b")[0].tokens)
    matcher = rookery.matcher(rookery.Schema(s=str))
    matcher.add("slow", "s LIKE '" + "%a" * 60 + "b'")
    assert matcher.match({"s": "a" * 20_000}) == []


def test_a_key_is_its_leaves_again_and_equal_patterns_have_equal_keys() -> None:
    leaves = [TextLeaf(("a", 0, "b"), "like", "%x"), TextLeaf(("a",), "fold", "é"), TextLeaf(("a",), "regex", "[a-z]")]
    assert text_key(leaves) == text_key(reversed([*leaves, leaves[0]]))
    assert sorted(map(str, text_leaves(text_key(leaves)))) == sorted(map(str, leaves))
    assert like_pattern(pattern_tokens("%%_%")) == like_pattern(pattern_tokens("_%")) == "_%"
    for bad in ("", "[]", '[["a", "like", "x"]]', '[[[], "like", "x"]]', '[[["a"], "other", "x"]]'):
        with pytest.raises(ValueError, match="no condition"):
            text_leaves(bad)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ÀÉ", "àé"),
        ("ß", "ß"),
        ("ẞ", "ß"),
        ("\u212a", "k"),
        ("ſ", "s"),
        ("İ", "İ"),
        ("Σς", "σσ"),
        ("\ufb05\u1fd3\u1fe3", "\ufb06\u0390\u03b0"),
    ],
)
def test_folding_is_simple(text: str, wanted: str) -> None:
    assert folded(text) == wanted
    assert folded_column(pa.array([text, None, "ABC"])).to_pylist() == [wanted, None, "abc"]


@given(st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("İßςſA\u212a"))))
def test_a_column_is_folded_as_its_texts_are(texts: list[str | None]) -> None:
    wanted = [None if one is None else folded(one) for one in texts]
    assert folded_column(pa.array(texts, pa.string())).to_pylist() == wanted


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("abc.*de", ["abc"]),
        ("ab|cd", ["ab", "cd"]),
        ("abc?d", ["ab"]),
        (r"a\.b+c", ["a."]),
        ("(abc)+x", ["x"]),
        ("(?i)ABC", ["abc"]),
        ("x{2,3}long", ["long"]),
        (r"\x41bc", []),
        (r"[[:alpha:]]xyz", []),
        ("[a[:digit:]bcd]x", []),  # the class ends at the second bracket
        ("a{,2}{0,}b", ["b"]),  # the first braces are characters, of which the last is repeated
        ("abc|.", []),
        ("(?:a|b)cd", ["cd"]),
        ("", []),
    ],
)
def test_required_literals(pattern: str, literals: list[str]) -> None:
    assert required_literals(pattern)[0] == literals


REGEX_PIECES = [*"abA.|()?*+[]^${},1", r"\d", "[:digit:]", "[^", "(?i)", "{0,}", "{,2}"]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(REGEX_PIECES), max_size=8).map("".join), st.text(st.sampled_from("abA1|."), max_size=8))
def test_a_text_that_a_regular_expression_matches_has_one_of_its_literals(pattern: str, text: str) -> None:
    if regex_fault(pattern) is not None or not regex_holds(pattern, text):
        return
    literals, fold = required_literals(pattern)
    parts, _ = regex_parts(0, pattern)
    assert not literals or any(one in (folded(text) if fold else text) for one in literals)
    assert len(parts) == max(1, len(literals))


def test_a_bad_regular_expression_is_refused_at_its_place() -> None:
    matcher = rookery.matcher(rookery.Schema(s=str))
    with pytest.raises(rookery.errors.SubscriptionError, match=r"no regular expression.*missing") as caught:
        matcher.add("bad", "s RLIKE 'a(b'")
    assert caught.value.position == 8


def test_one_more_pattern_leaves_the_many_as_they_are() -> None:
    random = Random(1)
    matcher = rookery.matcher(rookery.Schema(s=str))
    words = ["".join(random.choices("abcdefgh", k=6)) for _ in range(3000)]
    matcher.add_many(
        pa.table({"subscription_id": list(map(str, range(3000))), "where": [f"s LIKE '%{one}%'" for one in words]})
    )
    matcher.match({"s": words[0]})
    before = matcher._view.space.texts
    matcher.add("new", "s LIKE '%zzz%'")
    assert matcher.match({"s": "a zzz"}) == ["new"]
    after = matcher._view.space.texts
    assert before is not None
    assert after is not None
    assert after is not before
    assert after._parts[0] is before._parts[0]
    matcher.remove("new")
    assert matcher.match({"s": "a zzz"}) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([f"k{n:02}" for n in range(40)]), unique=True, max_size=40), st.integers(0, 40))
def test_new_conditions_stand_between_the_many_in_the_order_of_their_labels(words: list[str], cut: int) -> None:
    keys = [text_key([TextLeaf(("s",), "like", f"%{word}%")]) for word in words]
    values = {key: 8 * place - 100 for place, key in enumerate(sorted(keys))}
    parts = [LabelPart(sorted(mine), [values[key] for key in sorted(mine)]) for mine in (keys[:cut], keys[cut:])]
    texts = pa.array([" ".join(words), "none", None, *words])
    truths = TextIndex(Labels(*parts, two=True)).truths(len(texts), lambda path: texts)
    due = [sorted(values.values()), [], [], *([values[key]] for key in keys)]
    assert [truths.labels[a:b].tolist() for a, b in pairwise(truths.first.tolist())] == due


def test_the_edits_of_another_are_whole_for_who_matches() -> None:
    """A view that was taken before an edit answers as before it."""
    matcher = rookery.matcher(rookery.Schema(s=str, x=int))
    matcher.add("plain", "x > 1")
    old = matcher._view
    matcher.add("text", "s LIKE '%a%' AND s NOT LIKE '%b%'")
    middle = matcher._view
    matcher.remove("plain")
    event = {"s": "xa", "x": 5}
    asked = {"topic": None, "time": None}
    assert [view.records.ids(view.match_event(event, **asked)) for view in (old, middle, matcher._view)] == [
        ["plain"],
        ["plain", "text"],
        ["text"],
    ]
