"""Conditions of every form beside boxes, each written three times from the same random choices: in the language, in
DuckDB's SQL, and as Spark SQL reads it.

Operands are typed and grow from fields by arithmetic and functions. A writer keeps a pool of them, so that many
conditions share one, as those of people do. The SQL for DuckDB has every parenthesis and says in full what the language
promises: `fit` is NULL where no int64 holds a value, `num` where it is NaN, and whole numbers are HUGEINT
(`forms_events.py`). With `plain` a condition stays outside of the differences from Spark SQL that docs/subscriptions.md
lists, so that Spark reads the same text; only three names of functions are others there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from random import Random

from .forms_nested import nested_form

__all__ = ["Form", "FormWriter"]

_SIGNS = ["=", "=", "==", "<>", "!=", "<", "<=", ">", ">=", "<=>"]
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: Fields by kind, as the language and as the table of DuckDB names them.
_FIELDS = {
    "whole": [("a", "a"), ("b", "b"), ("`odd name`", '"odd name"')],
    "double": [("x", "x"), ("y", "y"), ("pos.x", "pos_x"), ("items[0].price", "items_0_price")],
    "decimal": [("d", "d"), ("e", "e")],
    "text": [("note", "note"), ("other", "other"), ("pos.name", "pos_name"), ("tags[0]", "tags_0"),
             ("tags[2]", "tags_2"), ("items[1].name", "items_1_name")],
    "moment": [("moment", "moment"), ("since", "since")],
    "flag": [("flag", "flag"), ("done", "done")],
}  # fmt: skip
_SCALES = {"d": 2, "e": 3}
_WORDS = ["bean", "apple", "an", "", "a", "Bean", "BANANA", " bean ", "éa", "ÉCLAIR", "50%", "b", "it''s", "ж"]
_LIKES = [
    "%an%", "a%", "%e", "%", "", "_", "__%", "a%e", "%a_%", "%b%n%", "bean", "%É%", "%é%", "_ean", "%ЖУ%",
    "%50!%%' ESCAPE '!", "!_%' ESCAPE '!", "%''%", "%an%an%", "B%A", "%ea%p%", "% %",
]  # fmt: skip
_REGEXES = [
    "a[a-n]+", "^[a-f]*$", "ee|an", "(?i)AN.?", "pl(e|um)", "^b", "e$", "b.*n", "[^a-z]", "(ba|na)+", "^$",
    "x{2,}|p{2}", "(?i)éc", "a.c", "^(bean|apple)$", "an?",
]  # fmt: skip
_TIMES = [
    "2026-05-01T00:00:00Z",
    "2026-05-01T06:00:00Z",
    "2026-04-30T23:59:59.5Z",
    "2026-05-02",
    "1969-12-31T12:00:00Z",
]
_NETWORKS = [
    "10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/24", "0.0.0.0/0", "10.0.0.7", "::/0", "fd00::/8", "::1", "2001:db8::/127",
]  # fmt: skip
#: Names of Spark's for some functions, which both read.
_SYNONYMS = {
    "lower": "lcase", "upper": "ucase", "length": "char_length", "ceil": "ceiling", "substring": "substr",
    "starts_with": "startswith", "ends_with": "endswith",
}  # fmt: skip
#: Predicates without a field, and what they are.
_CONSTANTS = {
    "'abc' LIKE 'a%'": "TRUE", "1 + 1 = 2": "TRUE", "5 / 0 = 1": "NULL", "lower('A') = 'b'": "FALSE",
    "'b' BETWEEN 'a' AND 'c'": "TRUE", "3 IN (1, 2)": "FALSE",
}  # fmt: skip
_SPARK_NAMES = {"starts_with": "startswith", "ends_with": "endswith"}


@dataclass(frozen=True, slots=True)
class Form:
    """A condition with its parameters, in the language, in DuckDB's SQL and in Spark's."""

    text: str
    sql: str
    spark: str
    parameters: tuple[str, ...] = ()
    binds: int = field(default=3, compare=False)  # 3 a predicate, 2 NOT, 1 AND, 0 OR


@dataclass(frozen=True, slots=True)
class _Operand:
    text: str
    sql: str
    spark: str
    kind: str
    binds: int = 3  # 3 an atom, 2 a product, 1 a sum
    scale: int = 0
    big: bool = False  # past what a double holds
    literal: bool = False
    depth: int = 0


class FormWriter:
    """Writes conditions of every form; `pool` operands are shared by them."""

    def __init__(self, random: Random, *, plain: bool = False, pool: int = 24) -> None:
        self.random, self.plain = random, plain
        self._parameters: list[str] = []
        self._named = False
        self._pool: dict[str, list[_Operand]] = {kind: [] for kind in _FIELDS}
        for _ in range(pool):
            made = self._computed(random.choice(list(_FIELDS)))
            self._pool[made.kind].append(made)
        #: Comparisons of expressions with one another, each an attribute by itself: shared, too.
        self._shared = [self._comparison(random.choice(list(_FIELDS)), fresh=True) for _ in range(pool // 2)]

    def condition(self) -> Form:
        """Return one condition."""
        self._parameters = []
        self._named = self.random.random() < 0.3
        made = self._node(self.random.choice([0, 0, 1, 1, 2]))
        text = made.text
        if self.random.random() < 0.2:
            text = re.sub(r"\b(\w+)\(", lambda found: f"{_SYNONYMS.get(found[1], found[1])}(", text)
        if self.random.random() < 0.2:
            text = text.replace("`odd name`", '"odd name"')
        return replace(made, text=text, parameters=tuple(self._parameters))

    # ---- AND, OR, NOT --------------------------------------------------------------------------------------

    def _node(self, depth: int) -> Form:
        random = self.random
        shape = random.random()
        if depth <= 0 or shape < 0.15:
            return self._predicate()
        if shape < 0.32:
            inner = self._node(depth - 1)
            text, spark = self._wrapped(inner, 2)
            return Form(f"{self._word('NOT')} {text}", f"(NOT {inner.sql})", f"NOT {spark}", binds=2)
        binds = int(shape < 0.66)
        word = "AND" if binds else "OR"
        parts = [self._node(depth - 1) for _ in range(random.choice([2, 2, 3, 4]))]
        wrapped = [self._wrapped(one, binds) for one in parts]
        gap = random.choice([" ", " ", "\n", " /* or */ ", " -- and\n"])
        return Form(
            f" {self._word(word)}{gap}".join(text for text, _ in wrapped),
            "(" + f" {word} ".join(one.sql for one in parts) + ")",
            f" {word} ".join(spark for _, spark in wrapped),
            binds=binds,
        )

    def _wrapped(self, node: Form, binds: int) -> tuple[str, str]:
        if node.binds >= binds and self.random.random() < 0.6:
            return node.text, node.spark
        return f"({node.text})", f"({node.spark})"

    def _word(self, word: str) -> str:
        return self.random.choice([word, word, word.lower(), word.capitalize()])

    # ---- predicates ----------------------------------------------------------------------------------------

    def _predicate(self) -> Form:
        random = self.random
        shape = random.random()
        if shape < 0.2:
            return random.choice(self._shared)
        shape = random.random()
        if random.random() < 0.12:
            return Form(*nested_form(random, plain=self.plain))
        if shape < 0.01:
            text, sql = random.choice(list(_CONSTANTS.items()))
            return Form(text, f"({sql}::BOOLEAN)", text)
        if shape < 0.03:
            text = random.choice(["TRUE", "FALSE", "1 = 1", "2 > 3", "'a' <> 'b'", "1.5 <= 1.50"])
            return Form(text, f"({text})", text)
        kind = random.choice(["whole", "whole", "double", "decimal", "text", "text", "text", "moment", "flag"])
        if shape < 0.10:
            one = self._operand(kind)
            word = random.choice(["IS NULL", "IS NOT NULL"])
            return Form(f"{one.text} {word}", f"({one.sql} {word})", f"{one.spark} {word}")
        if shape < 0.13:
            label, sign = random.choice(["low", "high"]), random.choice(["=", "<>"])
            return Form(text := f"level {sign} '{label}'", f"({text})", text)
        if shape < 0.16:
            return Form(text := f"level {random.choice(['', 'NOT '])}IN ('mid', 'high')", f"({text})", text)
        if kind == "flag":
            return self._truth()
        if kind == "text" and shape < 0.22 and not self.plain:
            return self._network()
        if kind == "text" and shape < 0.65:
            return self._pattern()
        if shape < 0.30:
            return self._between(kind)
        if shape < 0.45:
            return self._among(kind)
        return self._comparison(kind)

    def _truth(self) -> Form:
        """A boolean by itself, IS TRUE, or compared."""
        random = self.random
        one = self._operand("flag")
        shape = random.random()
        if shape < 0.4:
            return Form(one.text, f"({one.sql})", one.spark, binds=3 if one.binds == 3 else 0)
        if shape < 0.7:
            word = random.choice(["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE"])
            return Form(f"{one.text} {word}", f"(({one.sql}) {word})", f"{one.spark} {word}")
        return self._comparison("flag")

    def _pattern(self) -> Form:
        random = self.random
        one = self._operand("text")
        shape, negated = random.random(), random.choice(["", "", "NOT "])
        if shape < 0.3:
            pattern = random.choice(_REGEXES)
            word = random.choice(["RLIKE", "REGEXP", "rlike"])
            sql = f"({negated}regexp_matches({one.sql}, '{pattern}'))"
            java = pattern.replace("(?i)", "(?iu)")  # which folds only ASCII without the u
            return Form(f"{one.text} {negated}{word} '{pattern}'", sql, f"{one.spark} {negated}{word} '{java}'")
        word = "ILIKE" if shape < 0.5 else "LIKE"
        tail = f"{negated}{word} '{random.choice(_LIKES)}'"
        return Form(f"{one.text} {tail}", f"({one.sql} {tail})", f"{one.spark} {tail}")

    def _network(self) -> Form:
        """An address in networks, or not: both sides as Python's library reads them (`forms_events.py`)."""
        random = self.random
        networks = random.sample(_NETWORKS, random.choice([1, 1, 2, 3]))
        negated = random.choice(["", "NOT "])
        listed = ", ".join(f"'{one}'" for one in networks)
        among = listed if len(networks) == 1 and random.random() < 0.5 else f"({listed})"
        inside = " OR ".join("ip_read BETWEEN '{}' AND '{}'".format(*_ends(one)) for one in networks)
        return Form(f"ip {negated}IN CIDR {among}", f"({negated}({inside}))", "")

    def _comparison(self, kind: str, *, fresh: bool = False) -> Form:
        random = self.random
        left = self._operand(kind)
        right = self._comparable(left, fresh=fresh)
        sign = random.choice(_SIGNS)
        one, other = _united(left, right)
        meant = {"==": "=", "!=": "<>", "<=>": "IS NOT DISTINCT FROM"}.get(sign, sign)
        sql = f"({one} {meant} {other})"
        given = right.text if fresh else self._given(right)
        if given != right.text and sign != "<=>":
            return Form(f"{left.text} {sign} {given}", sql, f"{left.spark} {sign} {right.spark}")
        if random.random() < 0.25:
            left, right, sign = right, left, _MIRRORED.get(sign, sign)
        return Form(f"{left.text} {sign} {right.text}", sql, f"{left.spark} {sign} {right.spark}")

    def _given(self, value: _Operand) -> str:
        """Return a literal's text, or now and then a parameter's that has its value."""
        simple = value.literal and value.kind in ("whole", "decimal", "text") and value.binds == 3
        if not simple or len(self._parameters) > 90 or self.random.random() > 0.15:
            return value.text
        self._parameters.append(value.text)
        number = len(self._parameters) - 1
        return f":p{number:02}" if self._named else f"%{number}"

    def _between(self, kind: str) -> Form:
        one = self._operand(kind)
        low, high = self._comparable(one), self._comparable(one)
        word = self.random.choice(["BETWEEN", "BETWEEN", "NOT BETWEEN"])
        value, bottom, top = _united(one, low, high)
        return Form(
            f"{one.text} {word} {low.text} AND {high.text}",
            f"({value} {word} {bottom} AND {top})",
            f"{one.spark} {word} {low.spark} AND {high.spark}",
        )

    def _among(self, kind: str) -> Form:
        one = self._operand(kind)
        # Spark compares an instant with strings in IN as texts, unless it is in ANSI mode.
        dated = not (self.plain and kind == "moment")
        others = [self._comparable(one, dated=dated) for _ in range(self.random.choice([1, 2, 3, 9]))]
        word = self.random.choice(["IN", "IN", "NOT IN"])
        value, *values = _united(one, *others)
        return Form(
            f"{one.text} {word} ({', '.join(other.text for other in others)})",
            f"({value} {word} ({', '.join(values)}))",
            f"{one.spark} {word} ({', '.join(other.spark for other in others)})",
        )

    # ---- operands ------------------------------------------------------------------------------------------

    def _operand(self, kind: str) -> _Operand:
        """Return a field or an expression over fields."""
        pool = self._pool[kind]
        return self.random.choice(pool) if pool and self.random.random() < 0.55 else self._field(kind)

    def _comparable(self, other: _Operand, *, fresh: bool = False, dated: bool = True) -> _Operand:
        """Return what may be compared with another operand, mostly a literal unless it is to be something new."""
        kind = other.kind
        if kind in ("whole", "double", "decimal") and not other.big:
            kind = self.random.choice([kind, kind, "whole", "double", "decimal"])
        if self.random.random() < (0.3 if fresh else 0.97):
            return self._literal(kind, big=other.big, dated=dated)
        found = self._operand(kind)
        return self._field(kind, small=True) if found.big and other.kind != "whole" else found

    def _field(self, kind: str, *, small: bool = False) -> _Operand:
        if kind == "whole" and not self.plain and not small and self.random.random() < 0.15:
            return _Operand("n", "n", "n", "whole", big=True)
        text, sql = self.random.choice(_FIELDS[kind])
        return _Operand(text, sql, text, kind, scale=_SCALES.get(text, 0))

    def _literal(self, kind: str, *, big: bool = False, dated: bool = False) -> _Operand:
        random = self.random
        if kind == "whole":
            if big and random.random() < 0.7:
                value = random.choice([2**63 - 1, -(2**63), 2**62, 2**53 + 1, 3 * 2**61, -(2**31)])
            else:
                value = random.randint(-3, 9)
            if not dated or random.random() < 0.9:
                text = str(value)
                return _Operand(text, f"({value})::HUGEINT", text, kind, literal=True)
            text, value = random.choice([("2 * 3", 6), ("7 - 4", 3), ("9 % 4", 1), ("abs(-2)", 2)])
            return _Operand(text, f"({value})::HUGEINT", text, kind, binds=1, literal=True)
        if kind in ("double", "decimal"):
            text = random.choice(["0.5", "2.25", ".75", "1.5", "-0.25", "3.0", "0.50"])
            scale = len(text.partition(".")[2])
            return _Operand(text, f"({text})::DECIMAL(18,{scale})", text, "decimal", scale=scale, literal=True)
        if kind == "text":
            text = f"'{random.choice(_WORDS)}'"
            return _Operand(text, text, text, kind, literal=True)
        if kind == "flag":
            text = random.choice(["TRUE", "FALSE"])
            return _Operand(text, text, text, kind, literal=True)
        at = random.choice(_TIMES)
        words = ["TIMESTAMP ", "timestamp ", *(["DATE "] * (len(at) == 10)), *([""] * dated)]
        text = f"{random.choice(words)}'{at}'"
        return _Operand(text, f"TIMESTAMP '{at.rstrip('Z')}'", text, kind, literal=True)

    def _part(self, kind: str, *, fields: bool = False) -> _Operand:
        """Return an argument: a field, an expression that is not deep, or a literal."""
        shape = self.random.random()
        if not fields and shape < 0.3:
            return self._literal(kind)
        shallow = [one for one in self._pool[kind] if one.depth < 2]
        return self.random.choice(shallow) if shallow and shape < 0.6 else self._field(kind)

    def _computed(self, kind: str) -> _Operand:
        return {
            "whole": self._whole, "double": self._double, "decimal": self._decimal, "text": self._text,
            "moment": self._moment, "flag": self._flag,
        }[kind]()  # fmt: skip

    def _whole(self) -> _Operand:
        random = self.random
        shape = random.random()
        if shape < 0.5:
            sign = random.choice(["+", "-", "*", "%"])
            return self._arithmetic(sign, self._part("whole", fields=True), self._part("whole"))
        if shape < 0.6:
            one = self._part("text", fields=True)
            return self._call("length", "whole", "length({})::HUGEINT", one)
        if shape < 0.72:
            name = random.choice(["year", "month", "day", "hour", "minute", "second"])
            return self._call(name, "whole", f"{name}({{}})::HUGEINT", self._part("moment", fields=True))
        one = self._part("whole", fields=True)
        if shape < 0.78:
            return replace(
                one, text=f"-{_tight(one)}", sql=f"fit(-({one.sql}))", spark=f"-{_tight(one, spark=True)}", binds=2,
                depth=one.depth + 1,
            )  # fmt: skip
        if shape < 0.84:
            return replace(self._call(random.choice(["abs", "ABS"]), "whole", "fit(abs({}))", one), big=one.big)
        if shape < 0.9:
            made = self._call(random.choice(["floor", "ceil", "round"]), "whole", "({})", one)
            return replace(made, big=one.big)
        return self._choice("whole")

    def _double(self) -> _Operand:
        random = self.random
        shape = random.random()
        if shape < 0.35:
            one, other = self._part("double", fields=True), self._part(random.choice(["double", "whole", "decimal"]))
            return self._arithmetic(random.choice(["+", "-", "*", "%"]), one, self._small(other))
        if shape < 0.6:
            kinds = ["whole", "double"] if self.plain else ["whole", "double", "decimal"]
            one = self._small(self._part(random.choice(kinds), fields=True))
            other = self._small(self._part(random.choice(kinds)))
            if self.plain and other.literal:
                other = self._literal("whole")
            return self._arithmetic("/", one, other)
        if shape < 0.8:
            one = self._field("double")
            name = random.choice(["abs", "floor", "ceil", "round", "-"])
            if name == "-":
                return replace(one, text=f"-{one.text}", sql=f"(-{one.sql})", spark=f"-{one.text}", binds=2, depth=1)
            return self._call(name, "double", f"{name}({{}})", one)
        if shape < 0.85:
            return self._rounded(self._field("double"))
        return self._choice("double")

    def _decimal(self) -> _Operand:
        random = self.random
        shape = random.random()
        if shape < 0.5:
            one, other = self._field("decimal"), self._small(self._part(random.choice(["decimal", "whole"])))
            return self._arithmetic(random.choice(["+", "-", "*", "%"]), one, other)
        one = self._field("decimal")
        if shape < 0.75:
            name = random.choice(["abs", "floor", "ceil", "round"])
            made = self._call(name, "decimal", f"{name}({{}})", one)
            return replace(made, scale=one.scale if name == "abs" else 0)
        return self._rounded(one) if shape < 0.85 else self._choice("decimal")

    def _rounded(self, one: _Operand) -> _Operand:
        places = self.random.choice([0, 1, 2])
        made = self._call("round", one.kind, f"round({{}}, {places})", one)
        text, spark = (f"{text[:-1]}, {places})" for text in (made.text, made.spark))
        return replace(made, text=text, spark=spark, scale=min(one.scale, places))

    def _text(self) -> _Operand:
        random = self.random
        shape = random.random()
        if shape > 0.95 and not self.plain:
            return _Operand("address(ip)", "ip_read", "", "text", depth=1)
        one = self._part("text", fields=True)
        if shape < 0.3:
            name = random.choice(["lower", "upper", "trim", "LOWER"])
            return self._call(name, "text", f"{name}({{}})", one)
        if shape < 0.5:
            start, length = random.choice([0, 1, 2, 3, -1, -2, -5, 9]), random.choice([None, 0, 1, 2, 4, -1])
            tail = f", {start}" if length is None else f", {start}, {length}"
            meant = f"{start or 1}" + ("" if length is None else f", {max(length, 0)}")
            made = self._call("substring", "text", f"substring({{}}, {meant})", one)
            return replace(made, text=made.text[:-1] + tail + ")", spark=made.spark[:-1] + tail + ")")
        if shape < 0.75:
            other = self._part("text")
            return _Operand(
                f"{one.text} || {_tight(other)}", f"({one.sql} || {other.sql})",
                f"{one.spark} || {_tight(other, spark=True)}", "text", binds=1, depth=max(one.depth, other.depth) + 1,
            )  # fmt: skip
        return self._choice("text")

    def _moment(self) -> _Operand:
        random = self.random
        if random.random() < 0.6:
            unit = random.choice(["year", "month", "day", "hour", "minute", "second"])
            one = self._part("moment", fields=True)
            made = self._call("date_trunc", "moment", f"date_trunc('{unit}', {{}})", one)
            text, spark = (f"date_trunc('{unit}', {inner})" for inner in (one.text, one.spark))
            return replace(made, text=text, spark=spark)
        return self._choice("moment")

    def _flag(self) -> _Operand:
        random = self.random
        if random.random() < 0.25:
            return self._choice("flag")
        name = random.choice(["starts_with", "ends_with", "contains"])
        one, other = self._part("text", fields=True), self._part("text")
        sql = f"{name}({one.sql}, {other.sql})"
        spark = f"{_SPARK_NAMES.get(name, name)}({one.spark}, {other.spark})"
        return _Operand(f"{name}({one.text}, {other.text})", sql, spark, "flag", depth=max(one.depth, other.depth) + 1)

    def _choice(self, kind: str) -> _Operand:
        """coalesce, nullif, least or greatest."""
        random = self.random
        name = random.choice(["coalesce", "nullif", *(["least", "greatest"] * (kind != "flag"))])
        count = 2 if name == "nullif" else random.choice([1, 2, 3])
        parts = [self._part(kind, fields=place == 0) for place in range(max(count, 2 if self.plain else 1))]
        if kind == "double":
            parts = [self._small(one) for one in parts]
        values = _united(*parts)
        if kind == "double":
            values = [f"({one})::DOUBLE" for one in values]
        return _Operand(
            f"{name}({', '.join(one.text for one in parts)})",
            f"{name}({', '.join(values)})",
            f"{name}({', '.join(one.spark for one in parts)})",
            kind,
            scale=max(one.scale for one in parts),
            big=any(one.big for one in parts),
            depth=max(one.depth for one in parts) + 1,
        )

    def _small(self, one: _Operand) -> _Operand:
        return self._field("whole", small=True) if one.big else one

    def _call(self, name: str, kind: str, sql: str, one: _Operand) -> _Operand:
        return _Operand(
            f"{name}({one.text})", sql.format(one.sql), f"{name}({one.spark})", kind, depth=one.depth + 1,
            scale=one.scale if kind == "decimal" else 0,
        )  # fmt: skip

    def _arithmetic(self, sign: str, one: _Operand, other: _Operand) -> _Operand:
        binds = 1 if sign in "+-" else 2
        kinds = {one.kind, other.kind}
        kind = "double" if sign == "/" or "double" in kinds else "decimal" if "decimal" in kinds else "whole"
        scale = 0
        left, right = one.sql, other.sql
        if kind == "double":
            left, right = f"({left})::DOUBLE", f"({right})::DOUBLE"
            right = f"nullif({right}, 0)" if sign in "/%" else right
            sql = f"num({left} {sign} {right})"
        elif kind == "decimal":
            scale = one.scale + other.scale if sign == "*" else max(one.scale, other.scale)
            width = 18 if sign in "*%" else 38
            scales = (one.scale, other.scale) if sign == "*" else (scale, scale)
            left, right = (f"({part})::DECIMAL({width},{s})" for part, s in zip((left, right), scales, strict=True))
            right = f"nullif({right}, 0)" if sign == "%" else right
            sql = f"({left} {sign} {right})::DECIMAL(38,{scale})"
        else:
            right = f"nullif({right}, 0)" if sign == "%" else right
            sql = f"fit({left} {sign} {right})"
        texts = [self._side(one, binds), self._side(other, binds + 1)]
        sparks = [self._side(one, binds, spark=True), self._side(other, binds + 1, spark=True)]
        if kind == "whole" and sign == "%" and self.random.random() < 0.3:
            text, spark, binds = (f"mod({one.text}, {other.text})", f"mod({one.spark}, {other.spark})", 3)
        else:
            text, spark = (f" {sign} ".join(pair) for pair in (texts, sparks))
        big = one.big or other.big or (kind == "whole" and sign == "*" and max(one.depth, other.depth) > 1)
        return _Operand(
            text, sql, spark, kind, binds, scale, big and kind == "whole", depth=max(one.depth, other.depth) + 1
        )

    def _side(self, one: _Operand, binds: int, *, spark: bool = False) -> str:
        text = one.spark if spark else one.text
        return text if one.binds >= binds else f"({text})"


def _ends(network: str) -> tuple[str, str]:
    """Return the first and the last address of a network, as the column `ip_read` has them."""
    parsed = ip_network(network)
    first, last = parsed.network_address, parsed.broadcast_address
    return f"{parsed.version}{first.packed.hex()}", f"{parsed.version}{last.packed.hex()}"


def _tight(one: _Operand, *, spark: bool = False) -> str:
    text = one.spark if spark else one.text
    return text if one.binds == 3 and not text.startswith("-") else f"({text})"


def _united(*parts: _Operand) -> list[str]:
    """Return the SQL of operands in the type in which they compare exactly."""
    kinds = {one.kind for one in parts}
    if kinds <= {"whole"} or not kinds <= {"whole", "double", "decimal"}:
        return [one.sql for one in parts]
    if "double" in kinds:
        return [f"({one.sql})::DOUBLE" for one in parts]
    return [f"({one.sql})::DECIMAL(38,{max(one.scale for one in parts)})" for one in parts]
