"""GNP: coordinates for hosts, such that distance predicts round-trip time (seed 003, section 3.1, its reference 5).

Landmarks measure each other and are placed so that the relative errors are least, the sum of ((|x - y| - t) / t)².
Every other host measures the landmarks and places itself among them by the same rule. The original method was the
simplex; here it is least squares with its Jacobian, the best of a few seeded starts. A fit takes milliseconds: keep it
off the event loop.

SciPy is needed: the extra `routing` brings it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rookery.errors import SpaceError
from rookery.extras import need

__all__ = ["choose_landmarks", "extent_of", "place_host", "place_landmarks", "relative_errors"]

Floats = NDArray[np.float64]

#: Hosts of one site answer each other in next to no time, and a relative error needs something to be relative to.
SHORTEST = 0.1
#: SciPy's `lm` ends elsewhere from the same start in another process (seen in 1.17.1); `trf` gives the same bits.
METHOD = "trf"
#: A later start wins only by more than this: mirror images cost the same but for the last bits, which do not repeat.
SIGNIFICANT = 1 - 1e-6


def choose_landmarks(times: Floats, count: int, *, rounds: int = 20) -> list[int]:
    """Choose landmarks among hosts by k-medoids on the matrix of round-trip times: far apart, each amid others."""
    hosts = len(times)
    if not 1 <= count <= hosts:
        raise SpaceError(f"{count} landmarks among {hosts} hosts")
    medoids = [int(times.sum(axis=1).argmin())]
    while len(medoids) < count:  # begin with the host that helps most, again and again
        near = times[medoids].min(axis=0)
        gain = np.maximum(near[None, :] - times, 0).sum(axis=1)
        gain[medoids] = -1
        medoids.append(int(gain.argmax()))
    for _ in range(rounds):
        cluster = times[medoids].argmin(axis=0)
        moved = []
        for number in range(count):
            members = np.flatnonzero(cluster == number)
            inner = times[np.ix_(members, members)].sum(axis=1)
            moved.append(int(members[inner.argmin()]) if len(members) else medoids[number])
        if moved == medoids:
            break
        medoids = moved
    return sorted(set(medoids))


def place_landmarks(times: Floats, dimensions: int, generator: np.random.Generator, *, starts: int = 6) -> Floats:
    """Return coordinates (landmarks, dimensions) from the landmarks' times to each other."""
    need("scipy", "placing hosts by network coordinates")
    from scipy.optimize import least_squares

    count = len(times)
    one, other = np.triu_indices(count, k=1)
    wanted = np.maximum(times[one, other], SHORTEST)
    pairs = np.arange(len(one))

    def errors(flat: Floats) -> Floats:
        at = flat.reshape(count, dimensions)
        result: Floats = np.linalg.norm(at[one] - at[other], axis=1) / wanted - 1
        return result

    def jacobian(flat: Floats) -> Floats:
        at = flat.reshape(count, dimensions)
        between = at[one] - at[other]
        slope = between / (np.linalg.norm(between, axis=1) + 1e-12)[:, None] / wanted[:, None]
        matrix = np.zeros((len(one), count, dimensions))
        matrix[pairs, one] = slope
        matrix[pairs, other] = -slope
        return matrix.reshape(len(one), -1)

    size = float(np.median(wanted))
    best = None
    for _ in range(starts):
        fit = least_squares(errors, generator.normal(0, size, count * dimensions), jac=jacobian, method=METHOD)
        if best is None or fit.cost < best.cost * SIGNIFICANT:
            best = fit
    assert best is not None
    placed: Floats = best.x.reshape(count, dimensions)
    return placed


def place_host(landmarks: Floats, times: Floats) -> Floats:
    """Return the coordinates of one host from its times to the landmarks; the best of three starts.

    Near the closest landmark, amid all, and where the times' squares, less those to the closest, cross: the last is
    exact for times that are distances, and keeps hosts from being mirrored into a wrong place.
    """
    need("scipy", "placing hosts by network coordinates")
    from scipy.optimize import least_squares

    wanted = np.maximum(times, SHORTEST)

    def errors(at: Floats) -> Floats:
        result: Floats = np.linalg.norm(landmarks - at, axis=1) / wanted - 1
        return result

    def jacobian(at: Floats) -> Floats:
        between = at - landmarks
        slope: Floats = between / (np.linalg.norm(between, axis=1) + 1e-12)[:, None] / wanted[:, None]
        return slope

    closest = int(wanted.argmin())
    anchor = landmarks[closest]
    sides = 2 * (landmarks - anchor)
    squares = (landmarks**2).sum(axis=1) - (anchor**2).sum() + wanted[closest] ** 2 - wanted**2
    crossing = np.linalg.lstsq(sides, squares, rcond=None)[0]
    starts = (anchor + 1e-3, landmarks.mean(axis=0), crossing)
    best = None
    for start in starts:
        fit = least_squares(errors, start, jac=jacobian, method=METHOD)
        if best is None or fit.cost < best.cost * SIGNIFICANT:
            best = fit
    assert best is not None
    found: Floats = best.x
    return found


def extent_of(landmarks: Floats) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the box that `scale` maps into zones: the 2nd to 98th percentile of the landmarks, published with them."""
    low, high = np.percentile(landmarks, [2, 98], axis=0)
    return tuple(low.tolist()), tuple(high.tolist())


def relative_errors(positions: Floats, times: Floats) -> Floats:
    """Return |p - t| / min(p, t) for each pair of hosts: how well the coordinates predict."""
    one, other = np.triu_indices(len(times), k=1)
    predicted = np.maximum(np.linalg.norm(positions[one] - positions[other], axis=1), SHORTEST)
    measured = np.maximum(times[one, other], SHORTEST)
    errors: Floats = np.abs(predicted - measured) / np.minimum(predicted, measured)
    return errors
