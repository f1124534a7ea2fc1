"""`rookery ps`: who is in the domain?"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

import typer

from rookery.cli.credentials import KeyFile, read_key
from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import (
    DomainId,
    Interface,
    Json,
    LimitTexts,
    NoMulticast,
    Peers,
    note,
    note_limits,
    reached,
    write_json,
)

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery ps",
    "rookery ps --domain-id 5 --interface eth0",
    "rookery ps --interface eth0 --no-multicast --peer 10.0.0.7 --peer 10.0.0.8",
    "rookery ps --seconds 3 --json",
]
#: A pipe has no width; the table is not cut for it.
_WIDTH = 200


def command(
    domain_id: DomainId = 0,
    interface: Interface = "lo",
    peer: Peers = None,
    no_multicast: NoMulticast = False,
    limit: LimitTexts = None,
    seconds: Annotated[float, typer.Option(help="How long to listen.", min=0.0)] = 1.0,
    key_file: KeyFile = None,
    json: Json = False,
) -> int:
    """List the participants of a DDS domain: vendor, name, lease, addresses, endpoints, summary."""
    from rich.console import Console
    from rich.table import Table

    from rookery.live.survey import survey

    place = {"domain_id": domain_id, "interface": interface, **reached(peer, no_multicast, limit)}
    found = asyncio.run(survey(seconds=seconds, pre_shared_key=read_key(key_file), **place))
    note_limits(found.limits_reached)
    if found.misfits:
        note(f"{len({one.topic for one in found.misfits})} topics have writers and readers apart: see rookery ls")
    if json:
        write_json(
            {
                "domain_id": domain_id,
                "limits_reached": found.limits_reached,
                "participants": [asdict(each) for each in found.participants],
            }
        )
        return ExitCode.DONE
    note(f"{len(found.participants)} participants in domain {domain_id} on {interface}")
    if not found.participants:
        return ExitCode.DONE
    table = Table(box=None, pad_edge=False)
    for heading in ("participant", "vendor", "name", "lease", "address", "writers", "readers", "summary", "says"):
        table.add_column(heading, justify="right" if heading in ("lease", "writers", "readers") else "left")
    for each in found.participants:
        name = each.name or each.properties.get("__ProcessName", "")
        host = each.properties.get("__Hostname")
        table.add_row(
            each.prefix,
            each.vendor,
            f"{name}@{host}" if host else name,
            "∞" if each.lease_seconds is None else f"{each.lease_seconds:g} s",
            ", ".join(each.addresses),
            str(each.writers),
            str(each.readers),
            f"{each.summary}, {each.summary_bytes} bytes" if each.summary else "none",
            repr(each.user_data) if each.user_data else "",
        )
    Console(width=_WIDTH).print(table)
    return ExitCode.DONE
