"""From a condition to boxes: a disjunction of terms, each a set of values per attribute.

Theory. Negations are pushed down to the predicates, where they are complements within the values that are not NULL;
what is left is AND and OR over predicates that are TRUE or not, which is exact for three-valued logic, since AND and
OR are monotone. Each predicate is a set of values of one attribute, AND intersects, OR lists.

What no set of values of one attribute holds is of two kinds. An expression over several fields (`price > lim`) is an
attribute of its own, computed from the event, with a set of values like any other (`computed.py`). A condition on a
text (`note LIKE '%w%'`) is TRUE or is not, and a term lists the ones that it needs and the ones that it must not meet
(`texts.py`); FALSE is "not TRUE, and the field is not NULL".

Rule 1: a term is never smaller than the truth. Where it may be larger (more than MAXIMUM_TERMS terms) it says so:
`exact` is False, and what is true is then said by `decision` alone.
Rule 2: an empty term is dropped, so a condition that is never true has no term.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from rookery.model.check import Checker, Parameters
from rookery.model.computed import comparison_attribute
from rookery.model.expressions import (
    And,
    AnyElement,
    Between,
    Comparison,
    Constant,
    Expression,
    In,
    InCidr,
    IsNull,
    Like,
    Not,
    Or,
)
from rookery.model.patterns import folded_pattern, like_pieces, like_prefix
from rookery.model.schema import Attribute, Schema
from rookery.model.texts import TextLeaf, like_pattern, text_key, text_leaves
from rookery.model.types import EnumType, Key, StringType
from rookery.model.values import TOP, Intervals, after, before, complement, everything, intersect, union

__all__ = ["MAXIMUM_TERMS", "Constraint", "Decision", "Term", "allowed", "decision", "lower"]

#: Terms of one subscription. Past it, terms that hold wherever it does stand for it, and a decision is kept beside.
MAXIMUM_TERMS = 32

#: Operands of one AND from which on it is done by halves.
_LONG = 32
#: What share of the events a single value and a range are taken to let pass, where forms alone are known.
_POINT, _RANGE = 1 / 64, 1 / 3
#: The share from which on an AND of too many terms is narrow enough: more terms would cost more than they leave out.
_LITTLE = 1 / 16

#: Whether NULL satisfies it, and the values that do.
Constraint: TypeAlias = tuple[bool, Intervals]


#: Conditions on texts by their keys, and whether each must be TRUE or must not.
Texts: TypeAlias = frozenset[tuple[str, bool]]
_NO_TEXTS: Texts = frozenset()


class Term:
    """One box: constraints by attribute path, and conditions on texts, all of which must hold."""

    __slots__ = ("constraints", "exact", "texts")

    def __init__(
        self, constraints: dict[tuple[str | int, ...], Constraint], exact: bool = True, texts: Texts = _NO_TEXTS
    ) -> None:
        self.constraints = constraints
        self.exact = exact
        self.texts = texts

    def __repr__(self) -> str:
        return f"Term({self.constraints}, exact={self.exact}, texts={sorted(self.texts)})"


#: A condition without negations: `("and", parts)`, `("or", parts)`, or a term that holds or does not.
Decision: TypeAlias = "tuple[str, list[Decision]] | Term"


def lower(expression: Expression, schema: Schema, parameters: Parameters | None = None) -> list[Term]:
    """Return the terms of a condition: it is TRUE only where one holds (where all are exact, exactly there)."""
    return _terms(expression, Checker(schema, parameters), False)


def decision(expression: Expression, schema: Schema, parameters: Parameters | None = None) -> Decision:
    """Return a condition as it was written, negations pushed down to terms that are exact."""
    return _decision(expression, Checker(schema, parameters), False)


def _decision(node: Expression, checker: Checker, negated: bool) -> Decision:
    if isinstance(node, And | Or):
        return (
            "and" if isinstance(node, And) != negated else "or",
            [_decision(operand, checker, negated) for operand in node.operands],
        )
    if isinstance(node, Not):
        return _decision(node.operand, checker, not negated)
    terms = _terms(node, checker, negated)
    return terms[0] if len(terms) == 1 else ("or", list(terms))


def _terms(node: Expression, checker: Checker, negated: bool) -> list[Term]:
    kind = type(node)
    if kind is Comparison:
        return _comparison(node, checker, negated)  # type: ignore[arg-type]
    if kind is And or kind is Or:
        children = [_terms(operand, checker, negated) for operand in node.operands]  # type: ignore[union-attr]
        return _conjunction(children) if (kind is And) != negated else _disjunction(children)
    if kind is Not:
        return _terms(node.operand, checker, not negated)  # type: ignore[union-attr]
    if kind is Constant:
        return [Term({})] if node.value != negated else []  # type: ignore[union-attr]
    return _predicate(node, checker, negated)


def _term(attribute: Attribute, intervals: Intervals, negated: bool, *, ordered: bool = False) -> list[Term]:
    if negated:
        intervals = complement(intervals, attribute.type)
    if ordered and isinstance(attribute.type, EnumType):  # a label that is not listed has no place in the order
        intervals = intersect(intervals, ((0, len(attribute.type.labels) - 1),))
    return [Term({attribute.path: (False, intervals)})] if intervals else []


def _comparison(node: Comparison, checker: Checker, negated: bool) -> list[Term]:
    attribute, other, value = checker.comparison(node)
    if other is not None:
        computed, wanted = comparison_attribute(node, checker)
        truth = int(wanted != negated)
        return [Term({computed.path: (False, ((truth, truth),))})]
    negated = negated != (node.operator == "<>")
    kind = attribute.type
    inside = allowed(node.operator, *kind.enclose(value), *everything(kind)[0])
    return _term(attribute, inside, negated, ordered=node.operator not in ("=", "<>"))


def allowed(sign: str, floor: Key, ceiling: Key, lowest: Key, highest: Key) -> Intervals:
    """Return the keys that a comparison with a value between `floor` and `ceiling` allows; of `<>`, excludes."""
    if sign == "<":
        low, high = lowest, before(ceiling)
    elif sign == ">":
        low, high = after(floor), highest
    elif sign == "<=":
        low, high = lowest, floor
    elif sign == ">=":
        low, high = ceiling, highest
    else:
        low, high = ceiling, floor
    if low < lowest:
        low = lowest
    if high > highest:
        high = highest
    return ((low, high),) if low <= high else ()


def _predicate(node: Expression, checker: Checker, negated: bool) -> list[Term]:
    match node:
        case IsNull(field, is_not):
            attribute = checker.attribute(field)
            wants_null = is_not == negated
            constraint: Constraint = (True, ()) if wants_null else (False, everything(attribute.type))
            return [Term({attribute.path: constraint})]
        case Between(field, low, high, outside):
            attribute = checker.attribute(field)
            kind = attribute.type
            bottom = kind.enclose(checker.value(attribute, low))[1]
            top = kind.enclose(checker.value(attribute, high))[0]
            inside = intersect(((bottom, top),), everything(kind)) if bottom <= top else ()
            return _term(attribute, inside, negated != outside, ordered=True)
        case In(field, nodes, outside):
            attribute = checker.attribute(field)
            points: list[tuple[object, object]] = []
            for one in checker.values(attribute, nodes):
                floor, ceiling = attribute.type.enclose(one)
                if floor == ceiling:
                    points.append((floor, ceiling))
            inside = intersect(union(tuple(points), ()), everything(attribute.type))
            return _term(attribute, inside, negated != outside)
        case AnyElement():
            truth = int(not negated)
            return [Term({checker.each(node).path: (False, ((truth, truth),))})]
        case InCidr(_, _, outside):
            attribute, ranges = checker.networks(node)
            inside = union(tuple(((low, 0), (high, 0)) for low, high in ranges), ())
            return _term(attribute, inside, negated != outside)
        case Like():
            return _like(node, checker, negated)
    raise TypeError(f"not an expression: {node!r}")


def _like(node: Like, checker: Checker, negated: bool) -> list[Term]:
    attribute, pattern = checker.pattern(node)
    outside = negated != node.negated
    if node.word == "RLIKE":
        return [_text_term(attribute, text_key([TextLeaf(attribute.path, "regex", pattern)]), outside)]
    if node.word == "ILIKE":
        pieces = like_pieces(*folded_pattern(pattern, node.escape))
        return [_text_term(attribute, text_key([TextLeaf(attribute.path, "fold", like_pattern(pieces))]), outside)]
    prefix, kind = like_prefix(pattern, node.escape)
    if kind == "equal":
        return _term(attribute, (((prefix, 0), (prefix, 0)),), outside)
    inside = (((prefix, 0), _prefix_end(prefix)),)
    if kind == "prefix":
        return _term(attribute, inside, outside)
    key = text_key([TextLeaf(attribute.path, "like", like_pattern(like_pieces(pattern, node.escape)))])
    return [_text_term(attribute, key, outside, inside if prefix else None)]


def _text_term(attribute: Attribute, key: str, outside: bool, inside: Intervals | None = None) -> Term:
    """Return the term of a condition on a text: TRUE, perhaps with the values it can be TRUE of, or FALSE."""
    if outside:
        return Term({attribute.path: (False, everything(attribute.type))}, texts=frozenset({(key, False)}))
    return Term({} if inside is None else {attribute.path: (False, inside)}, texts=frozenset({(key, True)}))


def _prefix_end(prefix: str) -> object:
    """Return the key just before the first string after all that begin with `prefix`.

    That string is the prefix with its last character raised by one; characters that cannot be raised are cut off,
    and the surrogates, which no UTF-8 string holds, are stepped over.
    """
    while prefix:
        last = ord(prefix[-1])
        if last < 0x10FFFF:
            raised = 0xE000 if last == 0xD7FF else last + 1
            return (prefix[:-1] + chr(raised), -1)
        prefix = prefix[:-1]
    return TOP


def _conjunction(children: list[list[Term]]) -> list[Term]:
    """Return the terms of an AND: the product of its operands' terms, empty ones dropped."""
    if len(children) > _LONG:
        # Halves, not one by one: twenty thousand `x <> n` would otherwise be intersected with all before them, each.
        plain = [terms for terms in children if len(terms) == 1]
        middle = len(plain) // 2
        halves = [_conjunction(part) for part in (plain[:middle], plain[middle:]) if part]
        children = [*halves, *(terms for terms in children if len(terms) != 1)]
    if all(len(terms) == 1 for terms in children):
        whole = _meet_all([terms[0] for terms in children])
        return [] if whole is None else [whole]
    product = children[0]
    for terms in children[1:]:
        if len(product) * len(terms) > MAXIMUM_TERMS:
            return _best_conjunct(children)
        product = _product(product, terms)
    return product


def _product(ones: list[Term], others: list[Term]) -> list[Term]:
    return [term for one in ones for other in others if (term := _meet(one, other)) is not None]


def _best_conjunct(children: list[list[Term]]) -> list[Term]:
    """Return terms that hold wherever an AND of too many does: of the operands that leave most out, all of the truth.

    Those that are single terms, and the hulls of the others, come on top, since they make no term more.
    """
    product, share, left = [Term({})], 1.0, []
    for terms in sorted(children, key=lambda terms: (len(terms) > 1, sum(map(_share, terms)))):
        if len(terms) > 1 and (share <= _LITTLE or len(product) * len(terms) > MAXIMUM_TERMS):
            left.append(_hull(terms))
        else:
            product, share = _product(product, terms), share * min(1.0, sum(map(_share, terms)))
    return _product(product, _conjunction(left)) if left else product


def _share(term: Term) -> float:
    """Return about what share of the events a term lets pass, known nothing of the values but their forms."""
    share = _POINT ** sum(wanted for _, wanted in term.texts)
    for constraint in term.constraints.values():
        share *= _passing(constraint)
    return share


def _passing(constraint: Constraint) -> float:
    null, intervals = constraint
    return min(1.0, sum((_POINT if low == high else _RANGE for low, high in intervals), _POINT * null))


def _meet(one: Term, other: Term) -> Term | None:
    return _meet_all([one, other])


def _meet_all(terms: Sequence[Term]) -> Term | None:
    """Return the box of what all terms hold, None where it is empty."""
    constraints = dict(terms[0].constraints)
    exact, texts = terms[0].exact, terms[0].texts
    for term in terms[1:]:
        exact = exact and term.exact
        if term.texts:
            texts = texts | term.texts
        for path, constraint in term.constraints.items():
            mine = constraints.get(path)
            if mine is not None:
                null = constraint[0] and mine[0]
                intervals = intersect(constraint[1], mine[1])
                if not intervals and not null:
                    return None
                constraint = (null, intervals)
            constraints[path] = constraint
    if texts and any((key, not wanted) in texts for key, wanted in texts):
        return None
    return Term(constraints, exact, texts)


def _disjunction(children: list[list[Term]]) -> list[Term]:
    """Return the terms of an OR: exact single-attribute terms on one attribute become one set, the rest are listed."""
    joined: dict[tuple[str | int, ...], tuple[Term, list[Constraint]]] = {}
    terms: list[Term] = []
    leaves: list[TextLeaf] = []
    for term in (term for child in children for term in child):
        if not term.constraints and not term.texts and term.exact:
            return [term]
        if not term.constraints and len(term.texts) == 1 and term.exact and (found := _trigger(term)):
            leaves += found
            continue
        if len(term.constraints) != 1 or term.texts or not term.exact:
            terms.append(term)
            continue
        ((path, constraint),) = term.constraints.items()
        if path not in joined:
            joined[path] = Term({}), []
            terms.append(joined[path][0])
        joined[path][1].append(constraint)
    for path, (term, constraints) in joined.items():
        # One union of all at the end: one at a time would sort them as often as there are operands.
        intervals = tuple(interval for constraint in constraints for interval in constraint[1])
        merged = constraints[0][1] if len(constraints) == 1 else union(intervals, ())
        term.constraints[path] = (any(null for null, _ in constraints), merged)
    if leaves:
        terms.append(Term({}, texts=frozenset({(text_key(leaves), True)})))
    if len(terms) > 1:
        terms = _without_null_twins(terms)
    return terms if len(terms) <= MAXIMUM_TERMS else _cover(terms)


def _without_null_twins(terms: list[Term]) -> list[Term]:
    """Return the terms, "the text is not NULL and a pattern does not hold" and "it is NULL" as one, "it does not hold".

    A pattern never holds of NULL, so the one term is exact. Dialects with two truth values negate in this way.
    """
    nulls = {}
    for term in terms:
        if len(term.constraints) == 1 and not term.texts and term.exact:
            ((path, constraint),) = term.constraints.items()
            if constraint == (True, ()):
                nulls[path] = term
    used, kept = set(), []
    for term in terms:
        if term.texts and len(term.constraints) == 1 and not any(wanted for _, wanted in term.texts):
            ((path, (_, intervals)),) = term.constraints.items()
            paths = {leaf.path for key, _ in term.texts for leaf in text_leaves(key)}
            if path in nulls and paths == {path} and intervals == everything(StringType()):
                used.add(path)
                kept.append(Term({}, term.exact, term.texts))
                continue
        kept.append(term)
    return [term for term in kept if not any(term is nulls[path] for path in used)]


def _cover(terms: list[Term]) -> list[Term]:
    """Return few inexact terms of which one holds wherever any of `terms` does.

    Terms go together by the attribute by which each leaves most out, which is then asked for the values of all of them.
    """
    if all(_trigger(term) for term in terms):
        return _hull(terms)
    uses = Counter(path for term in terms for path in term.constraints)
    groups: dict[tuple[str | int, ...], list[Term]] = {}
    for term in terms:
        best = min(term.constraints, key=lambda path: (_passing(term.constraints[path]), -uses[path]), default=())
        groups.setdefault(best, []).append(term)
    ranked = sorted(groups.values(), key=len, reverse=True)
    rest = [term for group in ranked[MAXIMUM_TERMS - 1 :] for term in group]
    found = [_hull(group)[0] for group in [*ranked[: MAXIMUM_TERMS - 1], *([rest] if rest else [])]]
    return [Term(term.constraints, False, term.texts) for term in found]


def _hull(terms: list[Term]) -> list[Term]:
    """Return one inexact term that holds wherever any of `terms` does."""
    if len(terms) <= 1:
        return terms
    shared = set(terms[0].constraints)
    texts = frozenset.intersection(*(term.texts for term in terms))
    triggers = [_trigger(term) for term in terms]
    if all(triggers):
        texts |= {(text_key(leaf for leaves in triggers for leaf in leaves), True)}
    for term in terms[1:]:
        shared &= term.constraints.keys()
    hull: dict[tuple[str | int, ...], Constraint] = {}
    for path in terms[0].constraints:
        if path not in shared:
            continue
        null = any(term.constraints[path][0] for term in terms)
        intervals = tuple(interval for term in terms for interval in term.constraints[path][1])
        hull[path] = (null, union(intervals, ()))
    return [Term(hull, exact=False, texts=texts)]


def _trigger(term: Term) -> list[TextLeaf]:
    """Return patterns of which one must hold where a term does, those that are longest; none if it needs none."""
    needed = [text_leaves(key) for key, wanted in sorted(term.texts) if wanted]
    return max(needed, key=lambda leaves: min(len(leaf.pattern) for leaf in leaves), default=[])
