"""`rookery node --endpoints`: the readers and writers that a node has, as lines of text, and what summaries show.

A line is `write TOPIC [TYPE]`, `read TOPIC [TYPE]` or `end TOPIC`; the type's name is the topic's unless it is given.
From standard input (`-`) lines are followed as they come, so that a pipe can let endpoints come and go. Nothing is
published: this is for seeing discovery at work.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rookery.cli.options import note
from rookery.errors import RookeryError, SettingsError

if TYPE_CHECKING:
    from rookery.live.udp import UdpParticipant
    from rookery.rtps.announcements import ParticipantAnnouncement
    from rookery.rtps.events import TreeSearched
    from rookery.rtps.identity import Guid

__all__ = ["Declared", "as_text", "follow", "summary_facts", "tree_facts"]


class Declared:
    """The endpoints that lines declare in a participant."""

    def __init__(self, udp: UdpParticipant) -> None:
        self._udp = udp
        self._made: dict[str, list[Guid]] = {}

    def apply(self, line: str) -> None:
        """Do what a line says; raise for one that says nothing."""
        from rookery.rtps.qos import QualityOfService

        participant, now = self._udp.participant, self._udp.now()
        match line.split():
            case []:
                return
            case ["write" | "read" as what, topic, *rest] if len(rest) <= 1:
                make = participant.create_writer if what == "write" else participant.create_reader
                type_name = rest[0] if rest else topic
                guid = make(topic, type_name, QualityOfService(), keyed=False, now=now)
                self._made.setdefault(topic, []).append(guid)
            case ["end", topic] if topic in self._made:
                for guid in self._made.pop(topic):
                    participant.delete_endpoint(guid, now)
            case ["end", topic]:
                raise SettingsError(f"nothing here reads or writes {topic!r}")
            case _:
                raise SettingsError(f"{line.strip()!r}: give write TOPIC, read TOPIC or end TOPIC")
        self._udp.flush()


def follow(udp: UdpParticipant, source: str) -> None:
    """Apply the lines of a file at once, or those of standard input as they come; say which one is wrong, and go on."""
    declared, loop = Declared(udp), asyncio.get_running_loop()
    if source != "-":
        try:
            with open(source, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except OSError as error:
            raise SettingsError(f"--endpoints {source}: {error.strerror}") from error
        for number, line in enumerate(lines, start=1):
            _apply(declared.apply, number, line)
        return

    def read() -> None:
        for number, line in enumerate(sys.stdin, start=1):
            loop.call_soon_threadsafe(_apply, declared.apply, number, line)

    # A daemon: whoever leaves after --seconds does not wait for the pipe to end.
    threading.Thread(target=read, daemon=True).start()


def _apply(apply: Callable[[str], None], number: int, line: str) -> None:
    try:
        apply(line)
    except RookeryError as error:
        note(f"--endpoints, line {number}: {error}")


def summary_facts(announcement: ParticipantAnnouncement) -> dict[str, Any]:
    """Return what a participant's summary shows to anybody: its kind, octets, and tables or rows."""
    from rookery.discovery.carriage import carried_container, decode_reference, decode_summary, summary_name
    from rookery.errors import FilterError
    from rookery.filters import BloomTree, CuckooFilter
    from rookery.rtps.identity import VENDOR

    container = carried_container(announcement.vendor_parameters) if announcement.vendor == VENDOR else None
    if container is None:
        return {}
    facts: dict[str, Any] = {"summary": summary_name(container), "octets": len(container)}
    try:
        made = None if decode_reference(container) is not None else decode_summary(container)
    except FilterError:  # of another domain's key, or an observer
        return facts
    if isinstance(made, CuckooFilter):
        facts["buckets"] = [table.bucket_count for table in made.tables]
        facts["fingerprints"] = [table.count for table in made.tables]
    if isinstance(made, BloomTree):
        facts["layers"] = made.geometry.levels
        places = ((made.sub_node(node), rows) for node, rows in made.row_counts.items())
        facts["sub_nodes"] = [{"layer": place.layer, "column": place.column, "rows": rows} for place, rows in places]
    return facts


def as_text(described: dict[str, Any]) -> str:
    """Return facts as a line; what is a list of facts itself stands in brackets."""

    def show(value: Any) -> str:
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[" + "; ".join(" ".join(f"{name} {part}" for name, part in one.items()) for one in value) + "]"
        return str(value)

    return "  ".join(show(value) for value in described.values())


def tree_facts(event: TreeSearched) -> dict[str, Any]:
    """Return what a search of a participant's tree gave."""
    return {
        "event": "tree searched",
        "participant": event.prefix.hex(),
        "octets": event.size_bytes,
        "asked": event.asked,
        "visited": event.visited,
        "found": [found._asdict() for found in event.found],
    }
