"""From the figures to a sentence: is a change worth it, and which?

Three tests, in this order. A system whose whole plain discovery is small (under a megabyte: a second of a ten-megabit
radio) needs no change, whatever the percentage. A change that saves less than a fifth is not worth another protocol.
Otherwise the protocols within five percent of the fewest octets are taken as equal, and of them the one with the
smallest summary is named, since announcements go on for as long as the system runs. Where the plain list of hashes is
among them, or multicast alone gets most of the way, the verdict says so: simpler things break less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rookery.discovery.planning.plan import PlanView

__all__ = ["SMALL", "WORTH", "PlanVerdict", "in_words", "judge"]

#: Octets of plain discovery below which no change is worth it.
SMALL = 1_000_000
#: Percent that a change must save.
WORTH = 20.0
#: By how much octets may exceed the fewest and still count as equal.
_CLOSE = 1.05
#: The protocols that Rookery speaks; the server is a model.
_SPOKEN = ("bloom", "tree", "cuckoo", "ribbon", "hashes")


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """The recommended protocol (`simple` for no change) and why."""

    protocol: str
    text: str


def judge(views: Mapping[str, PlanView], *, participants: int) -> PlanVerdict:
    """Return the verdict on a plan."""
    view = views["unicast"]
    plain = view.costs["simple"].octets
    if participants < 2:
        return PlanVerdict("simple", "No change is worth it: there is one participant, and nobody to discover.")
    candidates = [name for name in _SPOKEN if name in view.costs]
    if not candidates:
        return PlanVerdict("simple", f"Plain discovery costs {in_words(plain)}; no other protocol was asked for.")
    fewest = min(view.costs[name].octets for name in candidates)
    close = [name for name in candidates if view.costs[name].octets <= _CLOSE * fewest]
    best = min(close, key=lambda name: view.costs[name].summary_octets)
    saved, cost = view.saved_percent(best), view.costs[best]
    if plain < SMALL:
        return PlanVerdict(
            "simple",
            f"No change is worth it: plain discovery costs {in_words(plain)} while the system starts, which no network "
            f"feels ({best} would make it {in_words(cost.octets)}).",
        )
    if saved < WORTH:
        return PlanVerdict(
            "simple",
            f"No change is worth it: the best protocol, {best}, would save {saved:.0f} % of {in_words(plain)}, since "
            f"{_percent(view.gating.needed, view.gating.records)} of what is told is needed.",
        )
    words = [
        f"Use {best}: it sends {in_words(cost.octets)} instead of {in_words(plain)} ({saved:.0f} % less) while the "
        "system starts."
    ]
    if best != "hashes" and "hashes" in close:
        words.append(f"A plain list of hashes does as well ({in_words(view.costs['hashes'].octets)}).")
    words += _multicast_words(views, best)
    words += _gating_words(views)
    return PlanVerdict(best, " ".join(words))


def _multicast_words(views: Mapping[str, PlanView], best: str) -> list[str]:
    multicast = views["multicast"]
    plain, chosen = multicast.costs["simple"].octets, multicast.costs[best].octets
    if not plain:
        return []
    saved = 100 * (1 - chosen / plain)
    if saved < WORTH:
        return [f"Where multicast works, plain discovery over it costs {in_words(plain)} and no change is worth it."]
    return [f"Over multicast it is {in_words(chosen)} instead of {in_words(plain)} ({saved:.0f} % less)."]


def _gating_words(views: Mapping[str, PlanView]) -> list[str]:
    gating = views["unicast"].gating
    bare = views["unicast_without_infrastructure"].gating
    words = []
    if gating.pair_gating_saves < gating.endpoint_filtering_saves - WORTH:
        words.append(
            f"Sparing whole pairs would save {gating.pair_gating_saves:.1f} % of the records, filtering endpoints "
            f"{gating.endpoint_filtering_saves:.1f} %."
        )
    if gating.pairs_in_contact > 2 * bare.pairs_in_contact:
        words.append(
            f"{gating.pairs_in_contact - bare.pairs_in_contact:,} of the {gating.pairs_in_contact:,} pairs in contact "
            "are so only through topics that ROS 2 gives to every node (/rosout, /parameter_events, parameter "
            "services)."
        )
    return words


def in_words(octets: float) -> str:
    """Return a size that a person can read."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if octets >= size:
            value = octets / size
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
    return f"{octets:.0f} B"


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "nothing"
