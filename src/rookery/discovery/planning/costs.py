"""What one protocol costs: packets, octets, memory, time, and what is told in vain.

A `Load` is what a protocol would have to carry on a topology, counted: announcements, pairs in contact, records, all
with the octets that they really have. `price` turns a load into a cost, with the multipliers that were fitted to
measured runs (`constants`). So the counting can be done elsewhere: `loads` does it in memory, `rookery.spark.discover`
for a fleet.

`false_contacts` counts tellings in vain: an endpoint's record sent to a participant that has no counterpart for it. For
the plain protocol that is everything beyond what is needed; for a summary, its wrong answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rookery.discovery.planning.constants import Constants, Network
from rookery.discovery.planning.sizes import DATAGRAM, datagrams_for, envelope_size, handshake_size
from rookery.discovery.planning.traffic import Parts

__all__ = ["PERIOD", "Cost", "Load", "parts_of", "price"]

#: Seconds after which a participant repeats its announcement, unless it is told otherwise.
PERIOD = 3
#: The runs behind the multipliers repeated it every eight seconds: in ten seconds two times fewer.
_MORE_ANNOUNCEMENTS = 10 // PERIOD - 10 // 8


@dataclass(frozen=True, slots=True)
class Load:
    """What a protocol has to carry, if everything is sent once."""

    protocol: str
    participants: int
    announcements: float
    """Datagrams to the group (to the server, where there is one)."""
    announcement_octets: float
    repeated_octets: float
    """Of one repetition at the period, by everyone: all that is sent once everyone knows everyone."""
    answers: float
    """Datagrams with an announcement to a single participant."""
    answer_octets: float
    contacts: float
    """Pairs of participants, in each direction, that exchange endpoints."""
    records: float
    record_octets: float
    flows: float
    """How many streams the records are divided into: a pair and direction each, or a participant each."""
    matched_pairs: float
    matched_directions: float
    needed_records: float
    """What a perfect filter would tell, whatever the protocol: records, their octets, and pairs in contact."""
    needed_octets: float
    needed_contacts: float
    false_contacts: float
    memory: float
    """Octets that a participant keeps of the others, on average."""
    largest_memory: float
    summary_octets: float
    largest_summary: float
    busiest_octets: float
    """Octets of records that pass through the participant that sends and receives most."""
    busiest_records: float
    busiest_contacts: float
    half_trips: int = 5
    """Half round trips until all is known: announcement; answer; HEARTBEAT; ACKNACK; records."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One protocol's cost; octets are UDP payload, as on the wire."""

    protocol: str
    packets: int
    octets: int
    octets_per_minute: int
    """Once everyone knows everyone."""
    memory_per_node: int
    largest_memory: int
    seconds: float
    records: int
    false_contacts: int
    contacts: int
    """Pairs of participants (unordered) that exchange endpoints."""
    summary_octets: float
    largest_summary: int
    shares: Parts
    """The octets by part of the traffic."""


def parts_of(load: Load) -> tuple[Parts, Parts]:
    """Return octets and datagrams of each part of the traffic, if everything were sent once."""
    shake, flows = handshake_size(), max(load.flows, 1e-9)
    mean = load.record_octets / load.records if load.records else 0.0
    datagrams = datagrams_for(load.record_octets / flows, mean) * load.flows
    octets = Parts(
        announcements=load.announcement_octets,
        answers=load.answer_octets,
        contacts=load.contacts * shake,
        records=load.record_octets + datagrams * envelope_size(),
        matches=load.matched_pairs * shake,
    )
    return octets, Parts(
        announcements=load.announcements,
        answers=load.answers,
        contacts=load.contacts,
        records=datagrams,
        # One for each direction between two participants, and more where many endpoints share it.
        matches=load.matched_directions + load.matched_pairs * shake / (2 * DATAGRAM),
    )


def price(load: Load, constants: Constants, network: Network) -> Cost:
    """Return what a load costs."""
    octets, datagrams = parts_of(load)
    often = constants.octets
    often = replace(often, announcements=often.announcements + _MORE_ANNOUNCEMENTS)
    shares = Parts(*(each * once for each, once in zip(often.row(), octets.row(), strict=True)))
    return Cost(
        protocol=load.protocol,
        packets=round(constants.datagrams.total(datagrams) + _MORE_ANNOUNCEMENTS * datagrams.announcements),
        octets=round(sum(shares.row())),
        octets_per_minute=round(60 / PERIOD * load.repeated_octets) if load.participants > 1 else 0,
        memory_per_node=round(load.memory),
        largest_memory=round(load.largest_memory),
        seconds=_seconds(load, octets, constants, network) if load.participants > 1 else 0.0,
        records=round(load.records),
        false_contacts=round(load.false_contacts),
        contacts=round(load.contacts / 2),
        summary_octets=load.summary_octets,
        largest_summary=round(load.largest_summary),
        shares=shares,
    )


def _seconds(load: Load, octets: Parts, constants: Constants, network: Network) -> float:
    """Return the time until the busiest participant knows all that it is told, once everyone has started."""
    shared = (octets.announcements + octets.answers + octets.contacts) / load.participants
    moved = constants.octets.records * load.busiest_octets + shared
    # Everyone's first announcement, the answers, and the questions of those in contact.
    heard = 2 * load.participants + constants.datagrams.contacts * load.busiest_contacts
    return (
        load.half_trips * network.round_trip / 2
        + moved / network.octets_per_second
        + load.busiest_records * network.seconds_per_record
        + heard * network.seconds_per_datagram
    )
