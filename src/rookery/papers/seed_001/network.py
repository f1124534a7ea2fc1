"""Seed 001, effects: the walk-through of its figures, and fleets that discover each other."""

from __future__ import annotations

import math
from dataclasses import replace

from rookery.papers.announced import ListeningNetwork, read, write
from rookery.papers.endpoints import record_bytes
from rookery.papers.experiments import Experiment, Parameters, grid, several
from rookery.papers.figures import Bars, Formula, Lines, chart, where
from rookery.papers.fleets import discover
from rookery.papers.table import Row, Table
from rookery.papers.verdicts import Judgment, Verdict, judge

__all__ = ["CLAIMS"]

CLAIMS: dict[str, Experiment] = {}
SECOND, TYPE = 1_000_000, "Sample"


def walk_through(parameters: Parameters, seed: int) -> Row:
    """Let two participants play it; another seed gives other names."""
    others, network = parameters["others"], ListeningNetwork(seed)
    one = network.join(discovery="cuckoo:patent" if others else "cuckoo:patent,buckets=2")
    two = network.join(discovery="cuckoo:patent")

    def topic(number: int) -> str:
        return f"T{number} of {seed}"

    def asked() -> str:
        """Which topics B has told A that it reads."""
        told = {endpoint.announcement.topic for endpoint in one.participant.remote_endpoints}
        return " ".join(f"T{number}" for number in (1, 3, 5) if topic(number) in told)

    for number in range(others):
        write(one, f"other {number} of {seed}", TYPE)
    for number in (1, 2, 3, 4):
        write(one, topic(number), TYPE)
    wanted = {number: read(two, topic(number), TYPE) for number in (1, 3, 5)}
    network.run(SECOND)
    early, paired = asked(), sum(bool(two.participant.matched(wanted[number])) for number in (1, 3))
    before = network.of(one)[-1].filter
    write(one, topic(5), TYPE)
    network.run(SECOND)
    after = network.of(one)[-1]
    return {
        "first_answer": early,
        "second_answer": asked(),
        "paired_first": paired,
        "paired": sum(bool(two.participant.matched(guid)) for guid in wanted.values()),
        "filters_sent": len(after.filter.tables),
        "grew_at_t5": after.filter.tables[0].log2_buckets > before.tables[0].log2_buckets,
        "bytes": len(after.container),
    }


def check_walk_through(table: Table) -> Judgment:
    """B must ask for T1 and T3, then T5 too; a false positive may add T5 early."""
    late = all(row["second_answer"] == "T1 T3 T5" for row in table)
    early = sum(row["first_answer"] == "T1 T3" for row in table)
    never_less = all(str(row["first_answer"]).startswith("T1 T3") for row in table)
    grown = table.where(others=8)
    paired = set(table.list("paired_first")) == {2} and set(table.list("paired")) == {3}
    holds = late and never_less and paired and all(grown.list("grew_at_t5")) and set(grown.list("filters_sent")) == {2}
    return judge(
        holds,
        f"T1 and T3 in {early} of {len(table)} runs, then T5 in all {len(table)}",
        f"B asks for T1 and T3 ({len(table) - early} of {len(table)} times for T5 as well, a false positive), and "
        "after A has added T5 for all three. Where T5 is the endpoint that passes 80 %, the filter doubles then and "
        "two filters are sent. With a table of four slots, the smallest that holds T1 to T4, it has doubled at T4 "
        "already.",
    )


def _as_stated(table: Table) -> dict[str, float]:
    return {
        "B first asks for T1 and T3": sum(row["first_answer"] == "T1 T3" for row in table) / len(table),
        "then for T5 as well": sum(row["second_answer"] == "T1 T3 T5" for row in table) / len(table),
    }


CLAIMS["walk-through"] = Experiment(
    rows=walk_through,
    full=grid(others=[0, 8], runs=10),
    quick=grid(others=[0, 8], runs=5),
    check=check_walk_through,
    figure=chart("share of the runs", "", Bars(_as_stated, "{:.0%}")),
)

CUCKOO = ["cuckoo", "cuckoo:patent"]
PROTOCOLS = ["simple", "bloom", "tree", *CUCKOO]
#: As many endpoints as make the filters of both settings double.
CROWD = 40
_SIZES = grid(protocol=PROTOCOLS, participants=[4, 8, 16, 32, 64], endpoints=10, ratio=0.1)
_RATIOS = grid(protocol=PROTOCOLS, participants=16, endpoints=10, ratio=[0.0, 0.3, 0.6, 1.0])
_CROWDED = grid(protocol=PROTOCOLS, participants=16, endpoints=CROWD, ratio=0.1)
_QUICK = grid(protocol=PROTOCOLS, participants=[4, 8, 16], endpoints=10, ratio=0.1)
_QUICK_RATIOS = grid(protocol=PROTOCOLS, participants=16, endpoints=10, ratio=1.0)
_QUICK_CROWDED = grid(protocol=PROTOCOLS, participants=8, endpoints=CROWD, ratio=0.1)


def traffic(parameters: Parameters, seed: int) -> Row:
    """Let a fleet discover itself."""
    return discover(parameters["protocol"], **{k: v for k, v in parameters.items() if k != "protocol"}, seed=seed)


def share(table: Table, protocol: str, column: str, *, endpoints: int = 10) -> dict[tuple[int, float], float]:
    """Return a protocol's share of what SDP takes, by participants and ratio."""
    return {
        (count, ratio): one.where(protocol=protocol).mean(column) / one.where(protocol="simple").mean(column)
        for count, part in table.where(endpoints=endpoints).by("participants")
        for ratio, one in part.by("ratio")
    }


def check_traffic(table: Table) -> Judgment:
    """In both settings the octets must be below SDP's everywhere, and no match may be missing."""
    now, patent = (share(table, name, "octets") for name in CUCKOO)
    crowded = [max(share(table, name, "octets", endpoints=CROWD).values()) for name in CUCKOO]
    most, dense = max(cell for cell in now if cell[1] == 0.1), (16, 1.0)
    bloom = share(table, "bloom", "octets")[most]
    holds = max(*now.values(), *patent.values(), *crowded) < 0.7 and not table.total("missing")
    return judge(
        holds,
        f"{now[most]:.1%} of SDP's octets with {most[0]} participants, {patent[most]:.1%} in the seed's own setting; "
        f"{now[dense]:.1%} and {patent[dense]:.1%} with 16 where every reader matches",
        f"With {most[0]} participants of which a tenth of the readers match, discovery by cuckoo filters takes "
        f"{now[most]:.1%} of the octets of SDP and {patent[most]:.1%} with entries of 8 bits as the seed has them, "
        f"whose false matches cost more than the bits save; with {CROWD} endpoints each, where the filters double, "
        f"{crowded[0]:.1%} and {crowded[1]:.1%}; with 16 whose readers all match {now[dense]:.1%} and "
        f"{patent[dense]:.1%}. Every match was found. It is the summary that saves, not this kind of it: a plain "
        f"Bloom filter takes {bloom:.1%}.",
    )


CLAIMS["traffic"] = Experiment(
    rows=traffic,
    full=several(_SIZES, _RATIOS, _CROWDED, runs=5),
    quick=several(_QUICK, _QUICK_RATIOS, _QUICK_CROWDED),
    check=check_traffic,
    figure=(
        chart(
            "participants, 10 endpoints each",
            "octets sent in 10 s",
            Lines("participants", "octets", by="protocol", of=where(endpoints=10, ratio=0.1)),
            x_log=2,
            y_log=10,
        ),
        chart(
            "node match ratio (16 participants)",
            "octets sent",
            Lines("ratio", "octets", by="protocol", of=where(endpoints=10, participants=16)),
            y_log=10,
        ),
    ),
)


def check_simple_growth(table: Table) -> Judgment:
    """Octets must grow about as the square of the participants."""
    simple = table.where(protocol="simple", ratio=0.1, endpoints=10)
    low, high = simple.least("participants"), simple.most("participants")
    ratio = simple.where(participants=high).mean("octets") / simple.where(participants=low).mean("octets")
    exponent = math.log(ratio) / math.log(high / low)
    last = simple.where(participants=high)
    return judge(
        exponent > 1.7,
        f"octets grow as the participants to the power {exponent:.2f}; {last.mean('octets'):,.0f} with {high}",
        f"Everyone is told every endpoint of everyone, so octets grow as the number of participants to the power "
        f"{exponent:.2f}, to {last.mean('octets'):,.0f} octets in {last.mean('datagrams'):,.0f} datagrams with {high} "
        "participants of ten endpoints.",
    )


def _simple(table: Table) -> Table:
    """Return the rows of SDP, with what would grow as P·(P − 1) from the fewest on."""
    simple = table.where(protocol="simple", ratio=0.1, endpoints=10)
    fewest = simple.values("participants")[0]
    each = simple.where(participants=fewest).mean("octets") / (fewest * (fewest - 1))
    return Table([{**row, "quadratic": each * row["participants"] * (row["participants"] - 1)} for row in simple])


CLAIMS["simple-growth"] = replace(
    CLAIMS["traffic"],
    check=check_simple_growth,
    figure=chart(
        "participants, 10 endpoints each",
        "octets of SDP in 10 s",
        Lines("participants", "octets", "measured", of=_simple),
        Formula("participants", "quadratic", "∝ P·(P − 1)", of=_simple),
        x_log=2,
        y_log=10,
    ),
)

#: Everyone writes and reads the same topics: nothing is told in vain.
_COMMON = grid(protocol=PROTOCOLS, participants=16, endpoints=10, ratio=1.0, common=True)
_QUICK_COMMON = grid(protocol=PROTOCOLS, participants=8, endpoints=10, ratio=1.0, common=True)


def _bytes(table: Table) -> Table:
    """Add what a node keeps: the records that it was told of, and the summaries of the others."""
    return Table([{**row, "kept": row["records"] * record_bytes() + row["summary_octets"]} for row in table])


def _shares(table: Table) -> dict[str, float]:
    """Return what the worse of the two settings keeps, as a share of SDP, by case."""
    kept: dict[str, dict[str, list[float]]] = {}
    for row in _bytes(table):
        case = "everything in common" if row.get("common") else f"ratio {row['ratio']:g}, {row['endpoints']} endpoints"
        name = f"{row['participants']} participants, {case}"
        kept.setdefault(name, {}).setdefault(row["protocol"], []).append(row["kept"])
    means = {name: {one: sum(some) / len(some) for one, some in part.items()} for name, part in kept.items()}
    return {name: max(part[one] for one in CUCKOO) / part["simple"] for name, part in means.items()}


def check_memory(table: Table) -> Judgment:
    """With filters a node must keep less in every case, or the cases are named in which it does not."""
    shares = _shares(table)
    common = {name: share for name, share in shares.items() if name.endswith("in common")}
    others = {name: share for name, share in shares.items() if name not in common}
    few = _bytes(table.where(ratio=0.1, endpoints=10))
    most = few.where(participants=few.most("participants"))
    kept = {name: part.mean("kept") for name, part in most.by("protocol")}
    worst, missing = max(others, key=others.__getitem__), table.total("missing")
    if missing or not others or max(others.values()) >= 1:
        verdict = Verdict.CONTRADICTED
    elif common and max(common.values()) < 1:
        verdict = Verdict.REPRODUCED
    else:
        verdict = Verdict.REGIME
    return Judgment(
        verdict,
        f"{most.most('participants')} participants: {kept['cuckoo']:,.0f} B, {kept['cuckoo:patent']:,.0f} B in the "
        f"seed's own setting, {kept['simple']:,.0f} B under SDP; with everything in common "
        f"{max(common.values(), default=0):.0%} of SDP",
        f"A node keeps the records that it was told of and a filter of each peer. In the {len(others)} cases in which "
        f"participants share only some topics that is at most {others[worst]:.0%} of what it keeps under SDP "
        f"({worst}), in both settings. Where all write and read the same topics every record is kept and the filters "
        f"come on top: {max(common.values(), default=0):.0%}.",
    )


def _kept_by_few(table: Table) -> Table:
    return _bytes(table.where(ratio=0.1, endpoints=10))


CLAIMS["memory"] = replace(
    CLAIMS["traffic"],
    full=several(CLAIMS["traffic"].full, _COMMON, runs=5),
    quick=several(CLAIMS["traffic"].quick, _QUICK_COMMON),
    check=check_memory,
    figure=chart(
        "participants, 10 endpoints each",
        "bytes that a node keeps of the others",
        Lines("participants", "kept", by="protocol", of=_kept_by_few),
        x_log=2,
        y_log=10,
    ),
)

#: A slow link, in bits a second, for the time that the octets themselves take.
SLOW = 1_000_000


def _with_slow(table: Table) -> Table:
    few = table.where(ratio=0.1, endpoints=10)
    return Table([{**row, "slow_ms": row["completed_ms"] + 8000 * row["octets"] / SLOW} for row in few])


def check_discovery_time(table: Table) -> Judgment:
    """In both settings it must be faster than SDP: on a link without limit, or on a slow one."""
    few = _with_slow(table)
    most = few.where(participants=few.most("participants"))
    times = {name: (part.mean("completed_ms"), part.mean("slow_ms")) for name, part in most.by("protocol")}
    free, slow = (all(times[name][place] < 0.9 * times["simple"][place] for name in CUCKOO) for place in (0, 1))
    one, other, simple = (times[name] for name in (*CUCKOO, "simple"))
    return Judgment(
        Verdict.REPRODUCED if free else Verdict.REGIME if slow else Verdict.CONTRADICTED,
        f"{one[0]:.0f} ms, {other[0]:.0f} in the seed's own setting, {simple[0]:.0f} under SDP; on 1 Mbit/s "
        f"{one[1]:,.0f}, {other[1]:,.0f} and {simple[1]:,.0f} ms",
        "Where the link takes whatever is sent, all have met at the same moment under every protocol, since what "
        f"decides is when announcements come: {one[0]:.0f} ms, {other[0]:.0f} ms in the seed's own setting, and "
        f"{simple[0]:.0f} ms under SDP. Where the link is the bottleneck fewer octets are less time: on a shared "
        f"1 Mbit/s {one[1]:,.0f}, {other[1]:,.0f} and {simple[1]:,.0f} ms. The second is the virtual time plus the "
        "octets over the rate, not a simulation of queues.",
    )


CLAIMS["discovery-time"] = replace(
    CLAIMS["traffic"],
    check=check_discovery_time,
    figure=(
        chart(
            "participants",
            "ms until all have met",
            Lines("participants", "completed_ms", by="protocol", of=_with_slow),
            x_log=2,
            y_range=(0, None),
        ),
        chart(
            "participants",
            "ms, with all octets on 1 Mbit/s",
            Lines("participants", "slow_ms", by="protocol", of=_with_slow),
            x_log=2,
            y_log=10,
        ),
    ),
)
