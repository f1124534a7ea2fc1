"""The table of sites: shortest ways over links that both ends name, and summaries that never say no wrongly."""

from __future__ import annotations

import itertools
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from rookery.gateway.messages import SiteState
from rookery.gateway.sites import MOST_NEIGHBORS, MOST_SITES, MOST_SUMMARY, Sites

NAMES = "abcdef"
EDGES = st.sets(st.sampled_from(list(itertools.combinations(NAMES, 2))))


def table(edges: set[tuple[str, str]], own: str = "a") -> Sites:
    """The table of a site that has heard everyone."""
    sites = Sites(own, incarnation=1)
    neighbors = {name: [other for edge in edges if name in edge for other in edge if other != name] for name in NAMES}
    sites.describe(neighbors=neighbors[own])
    for name in NAMES:
        if name != own:
            assert sites.merge(SiteState(name, 1, 1, neighbors[name], b""))
    return sites


def distances(edges: set[tuple[str, str]], start: str) -> dict[str, int]:
    found, queue = {start: 0}, deque([start])
    while queue:
        site = queue.popleft()
        for edge in edges:
            if site in edge:
                other = edge[0] if edge[1] == site else edge[1]
                if other not in found:
                    found[other] = found[site] + 1
                    queue.append(other)
    return found


@given(EDGES)
def test_each_hop_comes_nearer(edges: set[tuple[str, str]]) -> None:
    hops = table(edges).next_hops
    far = distances(edges, "a")
    assert set(hops) == set(far) - {"a"}
    for site, hop in hops.items():
        assert distances(edges, hop)[site] == far[site] - 1


def test_a_link_counts_only_if_both_ends_name_it() -> None:
    sites = Sites("a", incarnation=1)
    sites.describe(neighbors=["b"])
    sites.merge(SiteState("b", 1, 1, [], b""))
    assert not sites.next_hops
    sites.merge(SiteState("b", 1, 2, ["a"], b""))
    assert sites.next_hops == {"b": "b"}


def test_a_statement_is_passed_on_once_and_never_an_older_one() -> None:
    sites = Sites("a", incarnation=1)
    assert sites.merge(SiteState("b", 1, 2, [], b""))
    assert not sites.merge(SiteState("b", 1, 2, [], b""))
    assert not sites.merge(SiteState("b", 1, 1, [], b""))
    assert sites.merge(SiteState("b", 2, 0, [], b""))
    assert not sites.merge(SiteState("a", 9, 9, [], b""))


def test_too_much_is_refused() -> None:
    sites = Sites("a", incarnation=1)
    assert not sites.merge(SiteState("b", 1, 1, [str(number) for number in range(MOST_NEIGHBORS + 1)], b""))
    assert not sites.merge(SiteState("b", 1, 1, [], bytes(MOST_SUMMARY + 1)))
    assert not sites.merge(SiteState("b", 1, 1, [], b"no filter"))
    assert not sites.merge(SiteState("", 1, 1, [], b""))
    accepted = [sites.merge(SiteState(str(number), 1, 1, [], b"")) for number in range(MOST_SITES + 5)]
    assert sum(accepted) == MOST_SITES - 1


@given(st.sets(st.text(max_size=8), max_size=20))
def test_a_summary_holds_all_that_is_wanted(wanted: set[str]) -> None:
    here, there = Sites("a", incarnation=1), Sites("b", incarnation=1)
    assert here.describe(wanted=wanted) == bool(wanted)
    there.merge(SiteState("a", 1, 9, [], here.mine.summary))
    assert all(there.wants("a", key) for key in wanted)


def test_who_cannot_be_reached_is_forgotten_after_a_while_and_not_if_it_returns() -> None:
    sites = Sites("a", incarnation=1)
    sites.merge(SiteState("b", 1, 1, ["a"], b""))
    assert sites.note_unreachable(0)
    assert sites.forget_unreachable(59, after=60) == []
    sites.describe(neighbors=["b"])
    assert not sites.note_unreachable(60)
    sites.describe(neighbors=[])
    assert sites.note_unreachable(70)
    assert sites.forget_unreachable(129, after=60) == []
    assert sites.forget_unreachable(130, after=60) == ["b"]
    assert set(sites.states) == {"a"}
