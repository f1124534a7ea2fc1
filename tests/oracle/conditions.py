"""Conditions, each written twice from the same random choices: in the language, and in DuckDB's SQL.

The text leaves out parentheses where NOT, AND and OR do not need them; the SQL has them all. Field against field is
decided by DuckDB where both have a common exact type, an integer against a double by parts, and for decimals of unlike
scales or against doubles by the ranks of the values (`judge.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

from .literals import Leaf, among, between, compare, quoted
from .spelling import quoted_text, spelled

__all__ = ["Condition", "Writer"]

_SIGNS = ["=", "=", "<>", "!=", "<", "<=", ">", ">="]
_MIRRORED = {"=": "=", "<>": "<>", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PATTERNS = [
    "a%", "%b", "a_", "%", "", "_%", "a%c", "%a%b%", "ab", "\U0010ffff%", "a\U0010ffff%", "\ud7ff%", "it's%", "__",
    "k1%", "k_", "k1_", "%\U0001f600%", "\\%", "a\\%", "%\n%", "_\n_", "long%view", "%''%", "k%", "A%", "_b%", "%%",
    "%_%",
]  # fmt: skip
_ESCAPED = [
    ("a!%b", "!"),
    ("!_%", "!"),
    ("a!!%", "!"),
    ("%!%%", "!"),
    ("a\\_b", "\\"),
    ("%%", "%"),
    ("a__b", "_"),
    ("aa_b", "a"),
]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in the language with its parameters, and in SQL."""

    text: str
    parameters: tuple[str, ...]
    sql: str


@dataclass(frozen=True, slots=True)
class _Node:
    text: str
    sql: str
    binds: int  # 3 a predicate, 2 NOT, 1 AND, 0 OR


class Writer:
    """Writes conditions over some leaves; `ranked` are the leaves whose ranks the SQL reads.

    With `boxes` most are a key and ranges of the same few leaves, so that an engine meets many alike. With `plain` they
    are written as Spark SQL reads them too: no parameter, no hexadecimal number, no backslash.
    """

    def __init__(self, random: Random, leaves: list[Leaf], *, boxes: bool = False, plain: bool = False) -> None:
        self.random, self.leaves, self.plain = random, leaves, plain
        self._box = random.sample(leaves, min(3, len(leaves))) if boxes else []
        self.ranked: set[int] = set()
        self._parameters: list[str] = []

    def condition(self) -> Condition:
        """Return one condition."""
        random, self._parameters = self.random, []
        form = random.random()
        if form < 0.02:  # more terms than a normal form may have
            sides = [
                self._join("OR", [self._predicate(heavy=False) for _ in range(3)]) for _ in range(random.randint(3, 4))
            ]
            node = self._join("AND", sides)
        elif self._box and form < 0.9:
            key, *rest = self._box
            text, value = self._value(key)
            ranges = [self._range(leaf) for leaf in rest if random.random() < 0.8]
            node = self._join("AND", [_Node(f"{key.text} = {text}", compare(key, "=", value), 3), *ranges])
        else:
            node = self._node(random.choice([0, 1, 1, 2, 2, 3]))
        text = f"{random.choice(['', '', ' '])}{node.text}{random.choice(['', '', ' ', chr(10)])}"
        return Condition(text, tuple(self._parameters), node.sql)

    def _word(self, word: str) -> str:
        return self.random.choice([word, word, word.lower(), word.capitalize(), word.swapcase()])

    def _node(self, depth: int) -> _Node:
        random = self.random
        shape = random.random()
        if depth <= 0 or shape < 0.2:
            if random.random() < 0.02:
                value = random.choice(["TRUE", "FALSE"])
                return _Node(self._word(value), value, 3)
            return self._predicate()
        if shape < 0.32:
            inner = self._node(depth - 1)
            return _Node(f"{self._word('NOT')} {self._wrapped(inner, 2)}", f"(NOT {inner.sql})", 2)
        return self._join(
            "AND" if shape < 0.62 else "OR", [self._node(depth - 1) for _ in range(random.choice([2, 2, 3, 4]))]
        )

    def _join(self, word: str, parts: list[_Node]) -> _Node:
        binds = int(word == "AND")
        text = self.random.choice([" ", " ", "\n"]).join(
            [self._wrapped(parts[0], binds), *(f"{self._word(word)} {self._wrapped(one, binds)}" for one in parts[1:])]
        )
        return _Node(text, "(" + f" {word} ".join(one.sql for one in parts) + ")", binds)

    def _wrapped(self, node: _Node, binds: int) -> str:
        return node.text if node.binds >= binds and self.random.random() < 0.6 else f"({node.text})"

    def _value(self, leaf: Leaf) -> tuple[str, Any]:
        text, value = spelled(self.random, leaf, plain=self.plain)
        if self.plain or self.random.random() > 0.1 or len(self._parameters) >= 100:
            return text, value
        return self._parameter(leaf, text), value

    def _parameter(self, leaf: Leaf, text: str) -> str:
        bare = text
        if leaf.kind.family in ("string", "enum"):
            inner = text[1:-1].replace("''", "'")
            if self.random.random() < 0.5 and not (inner[:1] == "'" == inner[-1:] and len(inner) > 1):
                bare = inner
        elif leaf.kind.family == "timestamp":
            bare = self.random.choice([text, text[10:], text[11:-1]])
        else:
            bare = text.replace(" ", "")
        self._parameters.append(bare)
        return f"%{len(self._parameters) - 1}"

    def _predicate(self, *, heavy: bool = True) -> _Node:
        random = self.random
        leaf = random.choice(self.leaves)
        family = leaf.kind.family
        negated = random.random() < 0.3
        word = f" {self._word('NOT')}" if negated else ""
        shape = random.random()

        def node(text: str, sql: str) -> _Node:
            return _Node(text, f"(NOT {sql})" if negated else sql, 3)

        if shape < 0.06:
            return _Node(
                f"{leaf.text} {self._word('IS')}{word} {self._word('NULL')}", f"({leaf.sql} IS {word} NULL)", 3
            )
        if shape < 0.09 and heavy and (pair := self._fields(leaf)) is not None:
            return pair
        if shape < 0.25:
            values = [self._value(leaf) for _ in range(random.choice([1, 2, 3, 7, 8, 9, 12]))]
            gap = random.choice([",", ", "])
            return node(
                f"{leaf.text}{word} {self._word('IN')} ({gap.join(text for text, _ in values)})",
                among(leaf, [value for _, value in values]),
            )
        if family == "string" and shape < 0.45:
            return self._like(leaf, node, word)
        if shape < 0.6 and family != "enum":
            inside = self._range(leaf, word)
            return node(inside.text, inside.sql)
        return self._comparison(leaf)

    def _range(self, leaf: Leaf, word: str = "") -> _Node:
        if leaf.kind.family == "enum":
            return self._comparison(leaf)
        (low, bottom), (high, top) = self._value(leaf), self._value(leaf)
        text = f"{leaf.text}{word} {self._word('BETWEEN')} {low} {self._word('AND')} {high}"
        return _Node(text, between(leaf, bottom, top), 3)

    def _comparison(self, leaf: Leaf) -> _Node:
        random, family = self.random, leaf.kind.family
        sign = random.choice(["=", "<>", "!="] if family == "enum" else _SIGNS)
        text, value = self._value(leaf)
        sql = compare(leaf, "<>" if sign == "!=" else sign, value)
        gap = random.choice([" ", " ", ""])
        if random.random() < 0.2:
            return _Node(f"{text}{gap}{_MIRRORED[sign]}{gap}{leaf.text}", sql, 3)
        return _Node(f"{leaf.text}{gap}{sign}{gap}{text}", sql, 3)

    def _like(self, leaf: Leaf, node: Any, word: str) -> _Node:
        random = self.random
        if random.random() < 0.25:
            pattern, escape = random.choice([one for one in _ESCAPED if one[1] == "!" or not self.plain])
            tail = f" {self._word('ESCAPE')} {quoted_text(escape)}"
            sql = f"({leaf.sql} LIKE {quoted(pattern)} ESCAPE {quoted(escape)})"
        else:
            pattern, tail = random.choice(_PATTERNS), ""
            if random.random() < 0.3:  # `%` and `_` of the value are wildcards then
                pattern = random.choice(leaf.values) + random.choice(["%", "", "_"])
            sql = f"({leaf.sql} LIKE {quoted(pattern)})"
            if "\x00" in pattern or (
                "\\" in pattern and self.plain
            ):  # to DuckDB NUL is an escape, to Spark a backslash
                pattern, sql = "a%", f"({leaf.sql} LIKE 'a%')"
        text = quoted_text(pattern)
        if random.random() < 0.1 and not self.plain:
            text = self._parameter(leaf, text)
        return node(f"{leaf.text}{word} {self._word('LIKE')} {text}{tail}", sql)

    def _fields(self, leaf: Leaf) -> _Node | None:
        random, kind = self.random, leaf.kind
        others = [one for one in self.leaves if one.kind.family == kind.family != "enum" or one.kind == kind]
        if kind.number:
            others = [one for one in self.leaves if one.kind.number]
        other = random.choice(others)
        sign = random.choice(["=", "<>"] if kind.family == "enum" else _SIGNS)
        text = f"{leaf.text} {sign} {other.text}"
        return _Node(text, self._against(leaf, "<>" if sign == "!=" else sign, other), 3)

    def _against(self, leaf: Leaf, sign: str, other: Leaf) -> str:
        mine, theirs = leaf.kind, other.kind
        if mine.family == theirs.family and (mine.family != "decimal" or mine == theirs):
            return f"({leaf.sql} {sign} {other.sql})"
        families = {mine.family, theirs.family}
        if families == {"integer", "float"}:
            if mine.family == "float":
                return self._against(other, _MIRRORED[sign], leaf)
            whole, real = leaf.sql, other.sql
            floor = f"TRY_CAST(floor({real}) AS HUGEINT)"
            return (
                f"((CASE WHEN {whole} IS NULL OR {real} IS NULL THEN NULL WHEN {real} >= 4e19::DOUBLE THEN -1"
                f" WHEN {real} <= -4e19::DOUBLE THEN 1 WHEN {whole} < {floor} THEN -1 WHEN {whole} > {floor} THEN 1"
                f" WHEN {real} > floor({real}) THEN -1 ELSE 0 END) {sign} 0)"
            )
        scale = max(mine.scale, theirs.scale)
        if families <= {"integer", "decimal"} and not mine.wide and not theirs.wide:
            digits = max(len(str(max(one.high, -one.low))) - one.scale for one in (mine, theirs))
            if digits + scale <= 38:
                return f"({leaf.sql}::DECIMAL(38,{scale}) {sign} {other.sql}::DECIMAL(38,{scale}))"
        self.ranked |= {leaf.number, other.number}
        return f"(r{leaf.number} {sign} r{other.number})"
