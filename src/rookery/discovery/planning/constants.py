"""How often things are sent: the multipliers of each protocol, fitted on measured runs, and the times of one machine.

The runs (2, 4 and 8 participants with ten or twenty endpoints; ring, disjoint, dense; ten seconds from the start of
all of them) are kept in `tests/cases/discovery/`, a test fits them again and checks that the runs with 16 participants
come out within ten percent. `python -m benchmarks plan` does the same with runs of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from rookery.discovery.planning.traffic import Multipliers

__all__ = ["CONSTANTS", "Constants", "Network", "constants_of"]


@dataclass(frozen=True, slots=True)
class Constants:
    """The multipliers of one protocol."""

    octets: Multipliers
    datagrams: Multipliers


@dataclass(frozen=True, slots=True)
class Network:
    """What lies between the participants, and how fast one of them reads."""

    round_trip: float = 0.000_5
    """Seconds from a question to its answer."""
    octets_per_second: float = 125_000_000.0
    """Of one participant's link; a gigabit."""
    seconds_per_record: float = 0.000_05
    """To read one endpoint's record and compare it with one's own."""
    seconds_per_datagram: float = 0.000_05
    """To read one datagram with what is not a record."""


CONSTANTS: dict[str, Constants] = {
    "simple": Constants(Multipliers(6.0, 0.5, 4.18, 0.945, 0.79), Multipliers(6.0, 0.5, 4.0, 1.0, 2.57)),
}


def constants_of(protocol: str) -> Constants:
    """Return the constants of a protocol; those that were not measured by themselves have those of the nearest one."""
    nearest = {"hashes": "ribbon", "server": "simple"}
    return CONSTANTS.get(protocol) or CONSTANTS.get(nearest.get(protocol, "simple")) or CONSTANTS["simple"]
