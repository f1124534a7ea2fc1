"""From the figures to a sentence: is a change worth it, which, and how is it made?

What decides is what plain discovery costs: the bytes of the capture where there is one, else what the stack is planned
to send. Three tests, in this order. A system whose whole plain discovery is small (under a megabyte: a second of a
ten-megabit radio) needs no change, whatever the percentage. A change that saves less than a fifth is not worth another
protocol. Otherwise it depends on whose nodes they are:

- Rookery's speak every protocol of the plan. Those within five percent of the fewest octets are taken as equal, and of
  them the one with the smallest summary is named, since announcements go on for as long as the system runs.
- Those of another stack speak their own alone. What can be changed is their configuration: records by multicast for
  Cyclone DDS where the network has it, the discovery server for Fast DDS; both were played live, as the stack itself.
  Where nothing of that kind is left, there is nothing for this stack, and the verdict says so.

Whatever the stack, gateways between hosts keep what nobody reads there off the network between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rookery.discovery.planning.stacks import Stack, StackCost

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
#: What the owner of a stack can configure: another way of the same stack.
_CONFIGURED = {
    "cyclone_unicast": (
        "cyclone",
        "multicast",
        "In CYCLONEDDS_URI: <General><AllowMulticast>true</AllowMulticast></General>, where the network has multicast.",
    ),
    "fastdds": (
        "fastdds_server",
        "server",
        "Start `fastdds discovery -i 0 -l ADDRESS -p 11811` on one host, and give every node "
        "ROS_DISCOVERY_SERVER=ADDRESS:11811.",
    ),
}
_GATEWAYS = (
    "Between hosts: one `rookery gateway` on each and the nodes' domain on its own host alone; what nobody reads on "
    "the other side does not cross. Nodes stay as they are."
)


@dataclass(frozen=True, slots=True)
class PlanVerdict:
    """The recommended protocol (`simple` for no change), why, and what to do for it, a line each."""

    protocol: str
    text: str
    apply: tuple[str, ...] = ()


def judge(
    views: Mapping[str, PlanView],
    *,
    participants: int,
    stack: Stack | None = None,
    stacks: Mapping[str, StackCost] | None = None,
    observed: int | None = None,
    foreign: str | None = None,
) -> PlanVerdict:
    """Return the verdict on a plan: for Rookery's nodes, for those of a `stack`, or of one that nobody measured.

    `observed` are the octets of a capture's start, `foreign` the name of a stack that was never measured.
    """
    if participants < 2:
        return PlanVerdict("simple", "No change is worth it: there is one participant, and nobody to discover.")
    view = views["unicast"]
    if stack is not None:
        return _judge_stack(view, stack, stacks or {}, observed)
    plain = view.costs["simple"].octets if observed is None else observed
    if foreign is not None:
        if plain < SMALL:
            return PlanVerdict("simple", _small(plain, observed))
        return PlanVerdict(
            "simple",
            f"Nothing for this stack: discovery of {foreign} cost {in_words(plain)}, and no run of it was measured.",
            (_GATEWAYS,),
        )
    return _judge_rookery(views, plain, observed)


def _judge_stack(view: PlanView, stack: Stack, stacks: Mapping[str, StackCost], observed: int | None) -> PlanVerdict:
    plain = stacks[stack.name].octets if observed is None else observed
    if plain < SMALL:
        return PlanVerdict("simple", _small(plain, observed))
    other, protocol, how = _CONFIGURED.get(stack.name, ("", "", ""))
    spoken = [name for name in _SPOKEN if name in view.costs]
    words = []
    if spoken:
        best = _best(view, spoken)
        words.append(
            f"Nodes that run on Rookery would send {in_words(view.costs[best].octets)} with {best}; "
            f"nodes of {stack.title.partition(',')[0]} cannot speak it."
        )
    cost = f"{stack.title} {'is planned to send' if observed is None else 'sent'} {in_words(plain)} at the start"
    if other in stacks:
        changed = stacks[other]
        saved = 100 * (1 - changed.octets / plain)
        if saved >= WORTH:
            text = (
                f"Use {protocol}: {cost}; {changed.stack.title} sends {in_words(changed.octets)} ({saved:.0f} % less)."
            )
            return PlanVerdict(protocol, " ".join([text, *words]), (how, _GATEWAYS))
        words.insert(0, f"{changed.stack.title} would send {in_words(changed.octets)}.")
    text = f"Nothing for this stack: {cost}, and no setting of its own makes that a fifth less."
    return PlanVerdict("simple", " ".join([text, *words]), (_GATEWAYS,))


def _judge_rookery(views: Mapping[str, PlanView], plain: int, observed: int | None) -> PlanVerdict:
    view = views["unicast"]
    candidates = [name for name in _SPOKEN if name in view.costs]
    if not candidates:
        return PlanVerdict("simple", f"Plain discovery costs {in_words(plain)}; no other protocol was asked for.")
    best = _best(view, candidates)
    cost = view.costs[best]
    saved = 100 * (1 - cost.octets / plain) if plain else 0.0
    if plain < SMALL:
        return PlanVerdict("simple", _small(plain, observed, f"{best} would make it {in_words(cost.octets)}"))
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
    fewest = min(view.costs[name].octets for name in candidates)
    if best != "hashes" and "hashes" in candidates and view.costs["hashes"].octets <= _CLOSE * fewest:
        words.append(f"A plain list of hashes does as well ({in_words(view.costs['hashes'].octets)}).")
    words += _gating_words(views)
    how = (
        f"In nodes that run on Rookery: `rookery node --discovery {best}`, or in Python "
        f'`rookery.open("dds://0", rookery.DdsOptions(discovery="{best}"))`. Nodes of other stacks cannot speak it.',
        _GATEWAYS,
    )
    return PlanVerdict(best, " ".join(words), how)


def _best(view: PlanView, candidates: list[str]) -> str:
    fewest = min(view.costs[name].octets for name in candidates)
    close = [name for name in candidates if view.costs[name].octets <= _CLOSE * fewest]
    return min(close, key=lambda name: view.costs[name].summary_octets)


def _small(plain: int, observed: int | None, beside: str = "") -> str:
    costs, starts = ("costs", "starts") if observed is None else ("cost", "started")
    words = f"No change is worth it: plain discovery {costs} {in_words(plain)} while the system {starts}"
    return f"{words}, which no network feels{f' ({beside})' if beside else ''}."


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
