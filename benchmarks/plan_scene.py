"""One scene of the discovery benchmark, its traffic put down to the parts that the planner counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks import discovery_scene

from rookery.discovery.planning.observed import observe

__all__: list[str] = []


def describe(payloads: list[bytes]) -> dict[str, Any]:
    """Return packets and bytes, whole and by part."""
    seen = observe(payloads)
    return {
        "packets": len(payloads),
        "bytes": sum(map(len, payloads)),
        "octets": [round(value) for value in seen.parts().row()],
        "datagrams": [round(value) for value in seen.parts(datagrams=True).row()],
    }


if __name__ == "__main__":
    discovery_scene.describe = describe
    raise SystemExit(discovery_scene.run(sys.argv[1:]))
