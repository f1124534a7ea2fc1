"""What the page shows: the latest state of each thing, and a ring of recent events. Memory is bounded.

Rule 1: `apply` takes a record and costs the same however long the run is.
Rule 2: `drain` returns what changed since the last time, each thing once. 5,000 events a second become a handful of
examples and a number for each zone; whoever is routed or explained is always among the examples.
Rule 3: a table that is full takes nothing new, and `refused` says so. Nothing is dropped in silence.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable
from typing import Any

from rookery.web import records
from rookery.web.records import Record

__all__ = ["LIMITS", "RunState"]

#: The most entries of each table.
LIMITS = {
    "participants": 20_000,
    "endpoints": 100_000,
    "edges": 100_000,
    "islands": 1_000,
    "traffic": 100,
    "zones": 20_000,
    "ledger": 1_000,
    "skew": 100,
    "heat": 20_000,
}
SUBSCRIPTIONS = 200_000
TOPICS = 1_000
#: Events that are remembered, of which so many are shown as examples; at most so many are taken at one drain.
RECENT = 5_000
SHOWN = 1_000
FRESH = 40
EXPLANATIONS = 200
BATCHES = 1_000
NOTES = 200


class RunState:
    """The state of a run at one moment."""

    def __init__(self) -> None:
        self.title = ""
        self.at = 0
        self.tables: dict[str, dict[str, Any]] = {name: {} for name in LIMITS}
        self.space: records.SpaceRecord | None = None
        self.schemas: dict[str, records.SchemaRecord] = {}
        self.subscriptions: dict[tuple[str, Hashable, int], records.SubscriptionRecord] = {}
        #: Moves with every change of schemas and subscriptions.
        self.rules_revision = 0
        self.recent: OrderedDict[str, records.EventRecord] = OrderedDict()
        self.shown: OrderedDict[str, records.EventRecord] = OrderedDict()
        self.routes: OrderedDict[str, dict[str, records.RouteRecord]] = OrderedDict()
        self.explanations: OrderedDict[str, records.ExplanationRecord] = OrderedDict()
        self.batches: deque[records.BatchRecord] = deque(maxlen=BATCHES)
        self.notes: deque[records.NoteRecord] = deque(maxlen=NOTES)
        self.events = 0
        #: What a network says that it carried, events that were not recorded one by one included.
        self.carried = 0
        self.refused = 0
        #: Lines that were no records; counted by whoever reads them.
        self.rejected = 0
        self._changed: dict[str, dict[str, None]] = {name: {} for name in LIMITS}
        self._fresh: list[records.EventRecord] = []
        self._stride = 1
        self._news: dict[str, Any] = {}

    def copy(self) -> RunState:
        """Return a state that goes its own way; the records themselves never change and are shared."""
        twin = RunState()
        for name in ("title", "at", "space", "rules_revision", "events", "carried", "refused", "rejected"):
            setattr(twin, name, getattr(self, name))
        twin.tables = {name: dict(table) for name, table in self.tables.items()}
        for name in ("schemas", "subscriptions", "recent", "shown", "explanations", "batches", "notes"):
            setattr(twin, name, getattr(self, name).copy())
        twin.routes = OrderedDict((event, dict(schemes)) for event, schemes in self.routes.items())
        return twin

    def apply(self, record: Record) -> None:
        """Take a record in."""
        self.at = max(self.at, record.at)
        match record:
            case records.EventRecord():
                self._event(record)
            case records.CarriedRecord():
                self.carried = record.events
            case records.ParticipantRecord():
                self._put("participants", record.id, record, gone=record.gone)
                if record.gone:
                    self._leave(record.id)
            case records.EndpointRecord():
                self._put("endpoints", record.id, record, gone=record.gone)
            case records.EdgeRecord():
                self._put("edges", f"{record.writer}>{record.reader}", record, gone=record.gone)
            case records.IslandRecord():
                self._put("islands", record.id, record, gone=record.gone)
            case records.TrafficRecord():
                self._put("traffic", record.protocol, record)
            case records.ZoneRecord():
                self._put("zones", record.id, record, gone=record.gone)
                if record.gone and self.tables["heat"].pop(record.id, None) is not None:
                    self._changed["heat"][record.id] = None
            case records.LedgerRecord():
                self._put("ledger", record.source, record)
            case records.SkewRecord():
                self._put("skew", record.query, record)
            case records.SpaceRecord():
                self.space = self._news["space"] = record
            case records.RouteRecord():
                self._route(record)
            case records.ExplanationRecord():
                self._explain(record)
            case records.SchemaRecord() | records.SubscriptionRecord():
                self._rule(record)
            case records.BatchRecord():
                self.batches.append(record)
                self._tell("batches", record, most=BATCHES)
            case records.NoteRecord():
                self.notes.append(record)
                self._tell("notes", record, most=NOTES)
            case records.RunRecord():
                self.title = self._news["title"] = record.title or self.title

    def event(self, event_id: str) -> records.EventRecord | None:
        """Return an event that is remembered."""
        return self.recent.get(event_id) or self.shown.get(event_id)

    def snapshot(self) -> dict[str, Any]:
        """Return all that the page shows; `reset` tells it to forget the rest."""
        return {
            "reset": True,
            "title": self.title,
            "space": self.space,
            "events": list(self.shown.values()),
            "routes": [route for schemes in self.routes.values() for route in schemes.values()],
            "explanations": list(self.explanations.values()),
            "batches": list(self.batches),
            "notes": list(self.notes),
            **self._totals(),
            **{name: dict(table) for name, table in self.tables.items()},
        }

    def drain(self) -> dict[str, Any]:
        """Return what changed since the last call, in the shape of a snapshot; None for what is gone."""
        delta = {name: list(news) if isinstance(news, deque) else news for name, news in self._news.items()}
        self._news = {}
        for name, keys in self._changed.items():
            if keys:
                table = self.tables[name]
                delta[name] = {key: table.get(key) for key in keys}
                self._changed[name] = {}
        if self._fresh:
            for event in self._fresh:
                self._show(event)
            delta["events"] = [*self._fresh, *delta.get("events", ())]
        self._fresh, self._stride = [], 1
        return delta | self._totals()

    def _totals(self) -> dict[str, Any]:
        return {
            "at": self.at,
            "totals": {
                "events": max(self.events, self.carried),
                "subscriptions": len(self.subscriptions),
                "refused": self.refused,
                "rejected": self.rejected,
            },
        }

    def _tell(self, name: str, record: Record, *, most: int) -> None:
        self._news.setdefault(name, deque(maxlen=most)).append(record)

    def _put(self, name: str, key: str, value: Any, *, gone: bool = False) -> None:
        table = self.tables[name]
        if gone:
            if table.pop(key, None) is None:
                return
        elif key not in table and len(table) >= LIMITS[name]:
            self.refused += 1
            return
        else:
            table[key] = value
        self._changed[name][key] = None

    def _leave(self, participant: str) -> None:
        """Take away what a participant had: whoever dies does not say so for each of its endpoints."""
        for key, endpoint in list(self.tables["endpoints"].items()):
            if endpoint.participant == participant:
                self._put("endpoints", key, None, gone=True)
        for key, edge in list(self.tables["edges"].items()):
            if participant in (edge.source, edge.target):
                self._put("edges", key, None, gone=True)

    def _event(self, event: records.EventRecord) -> None:
        if self.events % self._stride == 0:
            self._fresh.append(event)
            if len(self._fresh) >= 2 * FRESH:
                self._fresh, self._stride = self._fresh[::2], 2 * self._stride
        self.events += 1
        _remember(self.recent, event.id, event, most=RECENT)
        if event.zone:
            self._put("heat", event.zone, self.tables["heat"].get(event.zone, 0) + 1)

    def _show(self, event: records.EventRecord) -> None:
        for forgotten in _remember(self.shown, event.id, event, most=SHOWN):
            self.routes.pop(forgotten, None)
            self.explanations.pop(forgotten, None)

    def _promote(self, event_id: str) -> bool:
        """Make an event one of the examples; say whether it is remembered at all."""
        if event_id in self.shown:
            return True
        event = self.recent.get(event_id)
        if event is not None:
            self._show(event)
            self._tell("events", event, most=SHOWN)
        return event is not None

    def _route(self, route: records.RouteRecord) -> None:
        if self._promote(route.event):
            schemes = self.routes.setdefault(route.event, {})
            if len(schemes) < 8 or route.scheme in schemes:
                schemes[route.scheme] = route
                self._tell("routes", route, most=SHOWN)
                _trim(self.routes, SHOWN)

    def _explain(self, explanation: records.ExplanationRecord) -> None:
        if self._promote(explanation.event):
            _remember(self.explanations, explanation.event, explanation, most=EXPLANATIONS)
            self._tell("explanations", explanation, most=EXPLANATIONS)

    def _rule(self, record: records.SchemaRecord | records.SubscriptionRecord) -> None:
        self.rules_revision += 1
        if isinstance(record, records.SchemaRecord):
            if record.topic in self.schemas or len(self.schemas) < TOPICS:
                self.schemas[record.topic] = record
            else:
                self.refused += 1
            return
        key = (record.topic, record.id, record.version)
        if record.gone:
            self.subscriptions.pop(key, None)
        elif key in self.subscriptions or len(self.subscriptions) < SUBSCRIPTIONS:
            self.subscriptions[key] = record
        else:
            self.refused += 1


def _remember(ring: OrderedDict[str, Any], key: str, value: Any, *, most: int) -> list[str]:
    """Put an entry at the end of a ring; return the keys that fell out."""
    ring[key] = value
    ring.move_to_end(key)
    return _trim(ring, most)


def _trim(ring: OrderedDict[str, Any], most: int) -> list[str]:
    fallen = []
    while len(ring) > most:
        fallen.append(ring.popitem(last=False)[0])
    return fallen
