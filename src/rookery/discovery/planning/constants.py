"""How often things are sent: multipliers that were fitted on measured runs, and the times of one machine.

The runs (2, 4 and 8 participants with ten endpoints, and a ring with fifty; ring, disjoint, dense; lease 10 s, an
announcement every 8 s, ten seconds from the first start), live, are kept in `tests/cases/discovery/live.json`: of
`simple`, `cuckoo`, `ribbon` and `hashes`; `tree` and `bloom` are predicted by them, and compared with simulated runs.
A test fits them again and checks that runs with 16 participants come out within ten percent, live ones and simulated
ones; `python -m benchmarks plan` does the same with runs of its own.
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
    seconds_per_datagram: float = 0.000_06
    """To read one datagram with what is not a record; both as measured of this participant, in Python."""


#: The protocols with a summary differ in the summary alone and share their multipliers.
CONSTANTS: dict[str, Constants] = {
    "simple": Constants(
        Multipliers(4.0000, 0.0000, 3.7646, 0.9937, 0.9308),
        Multipliers(4.0000, 0.0000, 3.9984, 0.9105, 0.9354),
    ),
    "summary": Constants(
        Multipliers(3.9975, 0.0000, 2.3851, 0.9900, 0.8577),
        Multipliers(4.0000, 0.0000, 4.1000, 0.8497, 1.1095),
    ),
}


def constants_of(protocol: str) -> Constants:
    """Return the constants of a protocol; a central server is taken to send as often as the plain one does."""
    if protocol == "server":
        return CONSTANTS["simple"]
    return CONSTANTS.get(protocol) or CONSTANTS["summary"]
