"""The plain twin of the kernels that find patterns: every pattern against every text, as the patterns read."""

from __future__ import annotations

from rookery.matching.texts.kernels import ANY_CHARACTER, ANY_RUN, CONTAINS, EQUALS, GLOB, PREFIX, REGEX, SUFFIX
from rookery.matching.texts.patterns import Pattern

__all__ = ["plain_find", "plain_glob"]


def plain_glob(text: str, tokens: tuple[int, ...]) -> bool:
    """Say whether a text is what tokens describe, by all the places that each of its characters can lead to."""
    units: list[int | str] = []
    pending = bytearray()
    for token in tokens:
        if token < ANY_CHARACTER:
            pending.append(token)
            continue
        units += [*pending.decode(), token]
        pending.clear()
    units += [*pending.decode()]

    def spread(places: set[int]) -> set[int]:
        for place in range(len(units)):
            if place in places and units[place] == ANY_RUN:
                places.add(place + 1)
        return places

    places = spread({0})
    for character in text:
        stepped = {place for place in places if place < len(units) and units[place] == ANY_RUN}
        stepped |= {place + 1 for place in places if place < len(units) and units[place] in (character, ANY_CHARACTER)}
        places = spread(stepped)
    return len(units) in places


def plain_find(texts: list[str | None], patterns: list[Pattern]) -> set[tuple[int, int]]:
    """Return the pairs of a text and a pattern that `PatternTable.find` gives."""
    found = set()
    for place, text in enumerate(texts):
        data = None if text is None else text.encode()
        for number, one in enumerate(patterns):
            if text is None or data is None:
                continue
            held = {
                CONTAINS: one.literal in data,
                REGEX: one.literal in data,
                PREFIX: data.startswith(one.literal),
                SUFFIX: data.endswith(one.literal),
                EQUALS: data == one.literal,
                GLOB: one.kind == GLOB and plain_glob(text, one.tokens),
            }[one.kind]
            if held:
                found.add((place, number))
    return found
