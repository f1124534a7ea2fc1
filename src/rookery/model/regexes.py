r"""Regular expressions: RE2's syntax and meaning, and the literals that a match cannot do without.

`required_literals` reads a safe part of the syntax: plain characters, escaped punctuation, `.`, anchors, classes,
groups and repetitions. What it does not know it takes for a gap, which needs nothing. So it may name fewer literals
than it could, never one that a match can lack.
"""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from rookery.model.folding import folded

__all__ = ["regex_fault", "regex_holds", "required_literals"]

_META = frozenset(".^$*+?()[]{}|\\")
_REPEATS = frozenset("*+?{")
#: Escapes that go on after their letter: numbers, classes by name, quotations.
_LONG_ESCAPE = re.compile(r"\\[xpPQ0-9]", re.ASCII)


@lru_cache(maxsize=4096)
def regex_fault(pattern: str) -> str | None:
    """Return what RE2 finds wrong with a pattern, None if nothing."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).partition("Invalid regular expression: ")[2] or str(error)
    return None


def regex_holds(pattern: str, text: str) -> bool:
    """Say whether a pattern matches anywhere in a text."""
    return bool(pc.match_substring_regex(pa.scalar(text), pattern).as_py())


def required_literals(pattern: str) -> tuple[list[str], bool]:
    """Return literals of which one stands in every text that matches (none: not known), and whether they are folded."""
    fold = pattern.startswith("(?i)")
    body = pattern[4:] if fold else pattern
    if "(?" in body.replace("(?:", "") or "[:" in body or _LONG_ESCAPE.search(body):  # [[:digit:]]: a class in a class
        return [], fold
    alternatives = _alternatives(body)
    found = [max(_runs(one), key=len, default="") for one in alternatives]
    if not all(found):
        return [], fold
    return sorted({folded(one) if fold else one for one in found}), fold


def _end_of(pattern: str, at: int) -> int:
    """Return where the escape, class or group that begins at a place ends."""
    if pattern[at] == "\\":
        return at + 2
    if pattern[at] == "[":
        at += 2 if pattern[at + 1 : at + 2] == "^" else 1
        at += pattern[at : at + 1] == "]"
        while at < len(pattern) and pattern[at] != "]":
            at += 2 if pattern[at] == "\\" else 1
        return at + 1
    if pattern[at] == "(":
        at += 1
        while at < len(pattern) and pattern[at] != ")":
            at = _end_of(pattern, at)
        return at + 1
    return at + 1


def _alternatives(pattern: str) -> list[str]:
    parts, begin, at = [], 0, 0
    while at < len(pattern):
        if pattern[at] == "|":
            parts.append(pattern[begin:at])
            begin = at + 1
        at = _end_of(pattern, at)
    return [*parts, pattern[begin:]]


def _runs(pattern: str) -> list[str]:
    """Return the runs of characters that every match of a pattern without alternatives holds."""
    runs, run, at = [], "", 0
    while at < len(pattern):
        end = _end_of(pattern, at)
        piece = pattern[at:end]
        literal = None
        if piece not in _META and len(piece) == 1:
            literal = piece
        elif (
            len(piece) == 2 and piece[0] == "\\" and piece[1].isascii() and not (piece[1].isalnum() or piece[1] == "_")
        ):
            literal = piece[1]
        repeated = pattern[end : end + 1] in _REPEATS
        if literal is not None and not repeated:
            run += literal
        else:
            runs.append(run)
            run = ""
        if repeated:
            at = _after_repeat(pattern, end)
        else:
            at = end
    return [*runs, run]


def _after_repeat(pattern: str, at: int) -> int:
    """Return where a repetition ends, those that follow it included."""
    while pattern[at : at + 1] in ("{", "?", "+", "*"):  # of `a{,2}{3}` only the second are braces that repeat
        close = pattern.find("}", at) if pattern[at] == "{" else at
        at = len(pattern) if close < 0 else close + 1
    return at
