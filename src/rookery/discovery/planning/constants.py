"""How often things are sent: the multipliers of each protocol, fitted on measured runs, and the times of one machine.

The runs (2, 4 and 8 participants with ten endpoints, and a ring with fifty; ring, disjoint, dense; lease 10 s, an
announcement every 8 s, ten seconds from the first start) are kept in `tests/cases/discovery/simulated.json`. A test
fits them again and checks that the runs with 16 participants come out within ten percent; `python -m benchmarks plan`
does the same with runs of its own, simulated or live.
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


CONSTANTS: dict[str, Constants] = {
    "simple": Constants(
        Multipliers(4.0000, 0.0000, 3.6153, 0.9384, 0.7667),
        Multipliers(4.0000, 0.0000, 4.1333, 0.9942, 2.0970),
    ),
    "bloom": Constants(
        Multipliers(4.0000, 0.0000, 2.4429, 0.9335, 0.7592),
        Multipliers(4.0000, 0.0000, 4.2249, 0.8939, 2.0495),
    ),
    "tree": Constants(
        Multipliers(4.0000, 0.0000, 2.5781, 0.9343, 0.7620),
        Multipliers(4.0000, 0.0000, 4.3215, 0.8770, 2.0686),
    ),
    "cuckoo": Constants(
        Multipliers(4.0000, 0.0000, 2.6311, 0.9323, 0.7582),
        Multipliers(4.0000, 0.0000, 4.4888, 0.8878, 2.0350),
    ),
    "ribbon": Constants(
        Multipliers(4.0000, 0.0000, 2.6274, 0.9321, 0.7593),
        Multipliers(4.0000, 0.0000, 4.4690, 0.8859, 2.0645),
    ),
    "hashes": Constants(
        Multipliers(4.0000, 0.0000, 2.6383, 0.9320, 0.7600),
        Multipliers(4.0000, 0.0000, 4.5000, 0.8845, 2.0645),
    ),
}


def constants_of(protocol: str) -> Constants:
    """Return the constants of a protocol; a central server is taken to send as often as the plain one does."""
    return CONSTANTS["simple" if protocol == "server" else protocol]
