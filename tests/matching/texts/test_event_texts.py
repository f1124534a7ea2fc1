"""What the texts of one event say is what columns of that one event say; rows are found by labels, some at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rookery.matching.labels import LabelPart, Labels
from rookery.matching.program_kernels import FALSE
from rookery.matching.texts import instances
from rookery.matching.texts.index import TextIndex
from rookery.model.folding import folded
from rookery.model.schema import Attribute
from rookery.model.texts import TextLeaf, like_pattern, pattern_tokens, text_key
from rookery.model.types import StringType

PIECES = st.text(st.sampled_from("abcÉ%_\\😀\n"), max_size=9)
REGEXES = st.sampled_from(["b+c", "^a", "(?i)É", ".", "abc|ca", "c$", "abcabca"])
VALUES = st.none() | st.text(st.sampled_from("abcAÉé😀\n%"), max_size=14)


def leaf_of(kind: str, name: str, piece: str) -> TextLeaf:
    if kind == "regex":
        return TextLeaf((name,), kind, piece)
    pattern = like_pattern(pattern_tokens(piece))
    return TextLeaf((name,), kind, folded(pattern) if kind == "fold" else pattern)


LEAVES = st.builds(leaf_of, st.sampled_from(["like", "fold"]), st.sampled_from("xyz"), PIECES) | st.builds(
    leaf_of, st.just("regex"), st.sampled_from("xyz"), REGEXES
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(LEAVES, min_size=1, max_size=3), min_size=1, max_size=14), VALUES, VALUES, VALUES, st.data())
def test_one_event_says_what_its_columns_say(
    given_leaves: list[list[TextLeaf]], x: str | None, y: str | None, z: str | None, data: Any
) -> None:
    keys = sorted({text_key(one) for one in given_leaves})
    cut = data.draw(st.integers(0, len(keys)))
    values = {key: 8 * place - 40 for place, key in enumerate(keys)}
    few = set(keys[:cut])
    parts = [LabelPart(mine, [values[key] for key in mine]) for mine in ([k for k in keys if k not in few], keys[:cut])]
    index = TextIndex(Labels(*parts, two=True))
    event = {"x": x, "y": y, "z": z}
    wanted = index.truths(1, lambda path: pa.array([event[str(path[0])]], pa.string())).labels
    said = index.of_event(
        {name: text for name, text in event.items() if text is not None},
        lambda path: Attribute(path, StringType()),
        "raise",
    )
    assert said.labels.tolist() == sorted(said.labels.tolist())
    held = [label for place, label in enumerate(said.labels.tolist()) if said.ask(place)]
    assert held == wanted.tolist()
    assert set(said.states.tolist()) <= {0, FALSE}


def test_rows_are_found_by_labels_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "INSTANCE_CODES", 6)
    codes = np.array([[1, 0, 3], [2, 0, 5]], np.int64)
    events, labels = np.array([0, 0, 1, 1, 1]), np.array([10, 20, 30, 40, 50])
    asked: list[list[list[int]]] = []

    def probe(some: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        asked.append(some.tolist())
        return np.array([(place << 32) | int(row[1]) + int(row[0]) for place, row in enumerate(some)], np.int64)

    found = list(instances.probe_instances(probe, codes, 1, events, labels))
    assert asked == [[[1, 10, 3], [1, 20, 3]], [[2, 30, 5], [2, 40, 5]], [[2, 50, 5]]]
    assert [(p, s) for places, slots in found for p, s in zip(places.tolist(), slots.tolist(), strict=True)] == [
        (0, 11), (1, 21), (2, 32), (3, 42), (4, 52),
    ]  # fmt: skip
    assert codes[:, 1].tolist() == [0, 0]
