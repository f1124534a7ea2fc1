"""Section 2.3, step 2: topic, type and QoS policies go into the tree. What becomes of QoS, as printed and live?

Every pair of six profiles (reliability, durability, deadline) has a topic with one writer and one reader, on two
participants that announce trees. Live, QoS is in no key: an endpoint is told for its topic and type, and the two sides
compare policies then. As printed the profile is part of the element, and who looks for it has only its own to ask with.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from rookery.papers.figures import bars, chart
from rookery.papers.sweeps import grid
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict
from rookery.filters import BloomTree, endpoint_key
from rookery.rtps.events import QualityIncompatible
from rookery.rtps.qos import INFINITE, Durability, QualityOfService, Reliability, incompatible_policies
from rookery.simulated.domain import SimulatedNetwork, conditions_between

__all__ = ["FULL", "QUICK", "check", "plot", "run"]

FULL = grid(protocol=["tree"], rate=0.0005, runs=10)
QUICK = grid(protocol=["tree"], rate=0.0005, runs=1)
_KEPT = ((Reliability.BEST_EFFORT, Durability.VOLATILE), (Reliability.RELIABLE, Durability.VOLATILE))
PROFILES = [
    QualityOfService(reliability=reliability, durability=durability, deadline=deadline)
    for reliability, durability in (*_KEPT, (Reliability.RELIABLE, Durability.TRANSIENT_LOCAL))
    for deadline in (INFINITE, 1_000_000)
]
TYPE_NAME, COUNTED = "Sample", ("pairs", "paired", "refused", "printed")


def run(parameters: Mapping[str, Any], seed: int) -> list[Row]:
    """Let two participants meet, and ask a tree of elements with their profiles for the same pairs."""
    network = SimulatedNetwork(seed, conditions_between(200, 2_000))
    one, two = (network.join(discovery=parameters["protocol"]) for _ in range(2))
    product = enumerate(itertools.product(PROFILES, repeat=2))
    pairs = [(f"{seed} {number}", offered, requested) for number, (offered, requested) in product]
    readers = {}
    for topic, offered, requested in pairs:
        one.participant.create_writer(topic, TYPE_NAME, offered, keyed=False, now=0)
        readers[topic] = two.participant.create_reader(topic, TYPE_NAME, requested, keyed=False, now=0)
    for member in (one, two):
        member.flush()
    network.run(10_000_000)
    printed = BloomTree.sized_for(len(pairs), parameters["rate"])
    printed.add_many([_element(topic, offered) for topic, offered, _ in pairs])
    rejected = {event.local for event in two.events if isinstance(event, QualityIncompatible)}
    totals = dict.fromkeys([f"{kind}_{what}" for kind in ("equal", "fitting", "unfit") for what in COUNTED], 0)
    for topic, offered, requested in pairs:
        fits = not incompatible_policies(offered=offered, requested=requested)
        kind = "equal" if offered == requested else "fitting" if fits else "unfit"
        paired, refused = bool(two.participant.matched(readers[topic])), readers[topic] in rejected
        found = (True, paired, refused, _element(topic, requested) in printed)
        for what, one_more in zip(COUNTED, found, strict=True):
            totals[f"{kind}_{what}"] += one_more
    return [totals]


def _element(topic: str, profile: QualityOfService) -> str:
    policies = f"{profile.reliability:d} {profile.durability:d} {profile.deadline}"
    return f"{endpoint_key(kind='W', topic=topic, type_name=TYPE_NAME)}\x1f{policies}"


def plot(table: Table) -> Any:
    """Draw what is found, live and as printed."""
    figure, axes = chart("share of the pairs that are found", "")
    kinds = {"equal": "the same policies", "fitting": "others that fit", "unfit": "others that do not fit"}
    shown = {}
    for kind, label in kinds.items():
        for what, how in (("paired", "live"), ("printed", "QoS in the tree")):
            shown[f"{label}, {how}"] = table.total(f"{kind}_{what}") / table.total(f"{kind}_pairs")
    bars(axes, shown, form="{:.0%}")
    return figure


def check(table: Table) -> Judgment:
    """With QoS in the tree every pair that fits must be found; live exactly these must be paired."""
    count = {name: table.total(name) for name in table.columns if name.partition("_")[2] in COUNTED}
    live = all(count[f"{kind}_paired"] == count[f"{kind}_pairs"] for kind in ("equal", "fitting"))
    exact = live and not count["unfit_paired"] and count["unfit_refused"] == count["unfit_pairs"]
    equal, fitting = (count[f"{kind}_printed"] == count[f"{kind}_pairs"] for kind in ("equal", "fitting"))
    verdict = Verdict.REPRODUCED if equal and fitting else Verdict.REGIME if equal else Verdict.CONTRADICTED
    return Judgment(
        verdict if exact else Verdict.CONTRADICTED,
        f"with QoS in the tree {count['equal_printed']} of {count['equal_pairs']} pairs with the same policies and "
        f"{count['fitting_printed']} of {count['fitting_pairs']} with others that fit",
        "Requested and offered policies need not be equal, they are ordered. Where both sides have the same, a tree "
        f"whose elements have topic, type and policies finds {count['equal_printed']} of {count['equal_pairs']} pairs; "
        f"where the offer is more than is asked for, {count['fitting_printed']} of {count['fitting_pairs']}. Rookery "
        "has QoS in no key and compares policies when endpoints have been told: "
        f"{count['equal_paired'] + count['fitting_paired']} of {count['equal_pairs'] + count['fitting_pairs']} fitting "
        f"pairs are made, and of {count['unfit_pairs']} others {count['unfit_refused']} are refused and say why. The "
        "price is that these were told of.",
    )
