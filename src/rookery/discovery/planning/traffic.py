"""The parts of a discovery's traffic, and how often each part is sent.

Whatever the protocol, the octets of a discovery are a sum of five parts, each a size that was encoded (`sizes`) times
how often it occurs in this topology:

    announcements   DATA(p) to the group, once for each participant
    answers         DATA(p) to one participant, once for each pair
    contacts        one HEARTBEAT and one ACKNACK, once for each pair that exchanges endpoints
    records         DATA(w) and DATA(r), once for each telling
    matches         one HEARTBEAT and one ACKNACK, once for each writer and reader that will talk

How often each part is really sent (repeats, acknowledgments, retransmissions) is five multipliers, and those are
fitted to runs that were measured, errors taken relative to each run's total. Where the parts of a run are known, as in
the simulator or from a capture, each multiplier is fitted to its own part (`fit_parts`): a fit to totals alone cannot
tell apart what grows alike. Where only totals are known, as of another stack, they are fitted together by non-negative
least squares (`fit_totals`). Packets are the same sum with datagrams in place of octets and multipliers of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from rookery.errors import TopologyError

__all__ = ["PARTS", "Multipliers", "Parts", "fit_parts", "fit_totals", "non_negative_least_squares"]


@dataclass(frozen=True, slots=True)
class Parts:
    """Octets, or datagrams, of each part if everything were sent once."""

    announcements: float
    answers: float
    contacts: float
    records: float
    matches: float

    def row(self) -> list[float]:
        """Return the parts in order."""
        return [getattr(self, name) for name in PARTS]


@dataclass(frozen=True, slots=True)
class Multipliers:
    """How often each part is sent."""

    announcements: float
    answers: float
    contacts: float
    records: float
    matches: float

    def total(self, parts: Parts) -> float:
        """Return what is sent altogether."""
        return float(np.dot(self.row(), parts.row()))

    def row(self) -> list[float]:
        """Return the multipliers in order."""
        return [getattr(self, name) for name in PARTS]


PARTS = tuple(field.name for field in fields(Parts))


def fit_parts(runs: Sequence[tuple[Parts, Parts]]) -> Multipliers:
    """Return the multiplier of each part from runs of (parts sent once, parts measured)."""
    totals = _totals([sum(measured.row()) for _, measured in runs])
    once = np.array([parts.row() for parts, _ in runs]) / totals[:, None]
    found = np.array([measured.row() for _, measured in runs]) / totals[:, None]
    squares = (once**2).sum(axis=0)
    return Multipliers(*((once * found).sum(axis=0) / np.maximum(squares, 1e-300)).tolist())


def fit_totals(runs: Sequence[tuple[Parts, float]]) -> Multipliers:
    """Return the multipliers that explain measured totals best."""
    measured = _totals([total for _, total in runs])
    rows = np.array([parts.row() for parts, _ in runs]) / measured[:, None]
    # Columns differ by orders of magnitude: scaled to one, the least squares are well conditioned.
    scale = np.maximum(np.abs(rows).max(axis=0), 1e-12)
    return Multipliers(*(non_negative_least_squares(rows / scale, np.ones(len(runs))) / scale).tolist())


def _totals(values: Sequence[float]) -> NDArray[np.float64]:
    totals = np.array(values, dtype=np.float64)
    if not totals.size or (totals <= 0).any():
        raise TopologyError("a fit needs measured runs with more than nothing sent in each")
    return totals


def non_negative_least_squares(matrix: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """Minimize |matrix·x − target| with x ≥ 0, by the active-set method of Lawson and Hanson.

    A column is let in where the error would fall most steeply; where the plain solution over the columns that are in
    leaves the allowed region, one goes as far as its edge and the column at the edge goes out.
    """
    count = matrix.shape[1]
    inside = np.zeros(count, dtype=np.bool_)
    solution = np.zeros(count)
    for _ in range(10 * count):
        slope = matrix.T @ (target - matrix @ solution)
        slope[inside] = -np.inf
        best = int(np.argmax(slope))
        if slope[best] <= 1e-10:
            break
        inside[best] = True
        while True:
            plain = np.zeros(count)
            plain[inside] = np.linalg.lstsq(matrix[:, inside], target, rcond=None)[0]
            outside = inside & (plain <= 0)
            if not outside.any():
                break
            step = (solution[outside] / np.maximum(solution[outside] - plain[outside], 1e-300)).min()
            solution = solution + step * (plain - solution)
            inside &= solution > 1e-12
            solution[~inside] = 0
        solution = plain
    return solution
