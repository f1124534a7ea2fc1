"""The loads of a fleet, counted on Spark: what `rookery plan --master` prices.

Everything that adds up is added up exactly, without ever listing pairs: the records that a topic's writers owe to its
readers are their product, less what a participant would tell itself. Pairs in contact do not add up, because two
participants may share many topics, so they are listed and counted where they are few enough (`pairs_at_most`); above it
everyone is taken to be in contact with everyone, which is what such a topic means. False contacts are asked for, of all
keys or of a sample (`rookery.spark.discovery`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rookery.discovery.planning.costs import Load
from rookery.discovery.planning.loads import PROTOCOLS
from rookery.discovery.planning.plan import Gating
from rookery.discovery.planning.sizes import announcement_size
from rookery.spark.discovery import ASK_AT_MOST, contact_counts, interests, key_counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["PAIRS_AT_MOST", "FleetCount", "count_fleet"]

_SEPARATOR = "\x1f"
#: Pairs that are listed to see which of them are the same.
PAIRS_AT_MOST = 50_000_000


@dataclass(frozen=True, slots=True)
class FleetCount:
    """What was counted: the loads by protocol, and what could be saved at all."""

    participants: int
    endpoints: int
    loads: dict[str, Load]
    gating: Gating
    matched_pairs: float
    pairs_were_counted: bool


@dataclass(frozen=True, slots=True)
class _Sums:
    participants: int
    records: float
    octets: float
    needed: float
    needed_octets: float
    matched_pairs: float
    contacts: float
    gated: float
    largest_heard: float
    counted: bool


def count_fleet(
    endpoints: DataFrame,
    *,
    protocols: Iterable[str] = PROTOCOLS,
    infrastructure: bool = True,
    ask_at_most: int = ASK_AT_MOST,
    pairs_at_most: int = PAIRS_AT_MOST,
) -> FleetCount:
    """Count what each protocol has to carry."""
    participants = endpoints.select("participant").distinct().count()
    interested = interests(endpoints, infrastructure=infrastructure).cache()
    try:
        sums = _sum_up(interested, participants, pairs_at_most)
        loads = {}
        for protocol in dict.fromkeys(("simple", *protocols)):
            announced, kept, in_vain, sizes = _announced(
                endpoints, protocol, participants, infrastructure=infrastructure, ask_at_most=ask_at_most
            )
            loads[protocol] = _load(protocol, sums, announced, kept, in_vain, sizes)
    finally:
        interested.unpersist()
    pairs = participants * (participants - 1)
    told = sums.records * (participants - 1)
    gating = Gating(
        records=round(told),
        needed=round(sums.needed),
        pairs=pairs // 2,
        pairs_in_contact=round(sums.contacts / 2),
        pair_gating_saves=100 * (1 - sums.gated / told) if told else 0.0,
        endpoint_filtering_saves=100 * (1 - sums.needed / told) if told else 0.0,
    )
    return FleetCount(participants, round(sums.records), loads, gating, sums.matched_pairs, sums.counted)


def _sum_up(interested: DataFrame, participants: int, pairs_at_most: int) -> _Sums:
    from pyspark.sql import functions

    col, zero = functions.col, functions.lit(0)
    sought = key_counts(interested).select(
        col("key").alias("sought"), col("holders").alias("seekers"), col("records").alias("seeking")
    )
    own = interested.select(
        "participant", col("key").alias("sought"), functions.lit(1).alias("inside"), col("records").alias("own")
    )
    # For each participant and key: how many others have the counterpart, and in how many endpoints.
    joined = (
        interested.join(sought, on="sought", how="left")
        .join(own, on=["participant", "sought"], how="left")
        .fillna(0, subset=["seekers", "seeking", "inside", "own"])
        .withColumn("others", col("seekers") - col("inside"))
        .withColumn("opposite", col("seeking") - col("own"))
    )
    # The two halves of a service have one key: a server and a client are two pairs of endpoints, not four.
    weight = functions.when(col("key").rlike(f"^W{_SEPARATOR}rq/[^{_SEPARATOR}]*Request{_SEPARATOR}"), 0.5).otherwise(
        1.0
    )
    pairs_of = functions.when(col("key").startswith("W"), weight * col("records") * col("opposite")).otherwise(zero)
    sums = {
        "records": col("records"),
        "octets": col("octets"),
        "needed": col("records") * col("others"),
        "needed_octets": col("octets") * col("others"),
        "pairs": pairs_of,
        "heard": col("opposite"),
    }
    by_participant = joined.groupBy("participant").agg(
        *(functions.sum(each).alias(name) for name, each in sums.items())
    )
    row = by_participant.agg(*(functions.sum(name) for name in list(sums)[:-1]), functions.max("heard")).first()
    records, octets, needed, needed_octets, pairs, largest = (float(value or 0) for value in row)
    every = float(participants * (participants - 1))
    counted = pairs <= pairs_at_most
    contacts, gated = _contacts(interested) if counted else (every, records * (participants - 1))
    return _Sums(
        participants=participants,
        records=records,
        octets=octets,
        needed=needed,
        needed_octets=needed_octets,
        matched_pairs=pairs,
        contacts=contacts,
        gated=gated,
        largest_heard=largest,
        counted=counted,
    )


def _contacts(interested: DataFrame) -> tuple[float, float]:
    """Return the pairs in contact, each in both directions, and the records that those would exchange if all went."""
    from pyspark.sql import functions

    writers = interested.where(functions.col("key").startswith("W"))
    one = writers.select(functions.col("participant").alias("one"), functions.col("sought").alias("key"))
    other = interested.select(functions.col("participant").alias("other"), "key")
    pairs = (
        one.join(other, on="key")
        .where(functions.col("one") != functions.col("other"))
        .select(functions.least("one", "other").alias("one"), functions.greatest("one", "other").alias("other"))
        .distinct()
    )
    both = pairs.select(functions.explode(functions.array("one", "other")).alias("participant"))
    degree = both.groupBy("participant").count()
    records = interested.groupBy("participant").agg(functions.sum("records").alias("records"))
    row = (
        degree.join(records, on="participant")
        .agg(functions.sum("count"), functions.sum(functions.col("count") * functions.col("records")))
        .first()
    )
    return float(row[0] or 0), float(row[1] or 0)


def _announced(
    endpoints: DataFrame, protocol: str, participants: int, *, infrastructure: bool, ask_at_most: int
) -> tuple[float, float, float, tuple[float, float]]:
    """Return octets of all announcements, what is kept of them, false contacts, and the mean and largest summary."""
    from pyspark.sql import functions

    plain = announcement_size()
    if protocol in ("simple", "server"):
        return participants * plain.multicast, participants * plain.payload, 0.0, (0.0, 0.0)
    counted = contact_counts(endpoints, protocol, infrastructure=infrastructure, ask_at_most=ask_at_most)
    is_fetched = functions.col("announced_octets") < functions.col("summary_octets")
    row = counted.agg(
        functions.sum("announced_octets"),
        functions.sum("summary_octets"),
        functions.max("summary_octets"),
        functions.sum("false_contacts"),
        functions.count("*"),
        functions.sum(functions.when(is_fetched, functions.col("summary_octets")).otherwise(0)),
    ).first()
    announced, size, largest, in_vain, summaries, fetched = (float(value or 0) for value in row)
    # A summary travels as a parameter of four octets and is padded to a multiple of four, with at least one octet.
    extra = announced + 6.5 * summaries
    return (
        participants * plain.multicast + extra,
        participants * plain.payload + extra + fetched,
        in_vain,
        (size / max(1.0, summaries), largest),
    )


def _load(
    protocol: str,
    sums: _Sums,
    announced: float,
    kept: float,
    in_vain: float,
    sizes: tuple[float, float],
) -> Load:
    count, plain = sums.participants, announcement_size()
    every = float(count * (count - 1))
    mean = sums.octets / sums.records if sums.records else 0.0
    server = protocol == "server"
    if protocol == "simple":
        records, octets, contacts = sums.records * (count - 1), sums.octets * (count - 1), every
        in_vain = records - sums.needed
    else:
        records, octets = sums.needed + in_vain, sums.needed_octets + in_vain * mean
        # A telling in vain opens a contact unless the pair has one already.
        contacts = min(every, sums.contacts + 2 * in_vain * (1 - sums.contacts / every if every else 0.0))
    share = octets / max(1, count)
    common: dict[str, Any] = {
        "protocol": protocol,
        "participants": count,
        "announcements": count,
        "matched_pairs": sums.matched_pairs,
        "matched_directions": min(sums.matched_pairs, sums.contacts),
        "needed_records": sums.needed,
        "needed_octets": sums.needed_octets,
        "needed_contacts": sums.contacts,
        "false_contacts": in_vain,
        "summary_octets": sizes[0],
        "largest_summary": sizes[1],
    }
    if server:
        passed_on = (count + sums.contacts) * plain.directed
        memory = (sums.contacts * plain.payload + sums.needed_octets) / max(1, count)
        return Load(
            **common,
            announcement_octets=count * plain.directed,
            repeated_octets=count * plain.directed,
            answers=0.0,
            answer_octets=0.0,
            contacts=2 * count,
            records=sums.records + sums.needed,
            record_octets=sums.octets + sums.needed_octets + passed_on,
            flows=2 * count,
            memory=memory,
            largest_memory=memory,
            busiest_octets=sums.octets + sums.needed_octets + passed_on,
            busiest_records=sums.records,
            busiest_contacts=count,
            half_trips=8,
        )
    largest = sums.largest_heard if protocol != "simple" else sums.records
    memory = kept * (count - 1) / max(1, count) + share
    return Load(
        **common,
        announcement_octets=announced,
        repeated_octets=announced,
        answers=every,
        answer_octets=(count - 1) * (announced + 16 * count),
        contacts=contacts,
        records=records,
        record_octets=octets,
        flows=contacts,
        memory=memory,
        largest_memory=max(memory, kept * (count - 1) / max(1, count) + largest * mean),
        busiest_octets=2 * largest * mean,
        busiest_records=largest,
        busiest_contacts=min(float(count - 1), largest),
    )
