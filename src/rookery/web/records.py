"""The records of a run: one JSON object a line, each with its `kind` and its time.

Rule 1: a file is append-only, and each line stands alone. `at` is microseconds since 1970, so the files of several
processes can be read together.
Rule 2: things that last (a participant, a zone, a subscription) are recorded again when they change, whole, and with
`gone` when they end; the latest line counts. Counters only grow, so a lost line costs nothing but its moment.
Rule 3: whoever reads believes nothing. Names, texts, lists and numbers are bounded here, and a line that does not fit
is no record.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from rookery.errors import RunError

__all__ = [
    "FORMAT",
    "FORMAT_VERSION",
    "AxisRecord",
    "BatchRecord",
    "CarriedRecord",
    "EdgeRecord",
    "EndpointRecord",
    "EventRecord",
    "ExplanationRecord",
    "IslandRecord",
    "LedgerRecord",
    "NoteRecord",
    "ParticipantRecord",
    "Predicate",
    "Record",
    "RouteRecord",
    "Row",
    "RunRecord",
    "SchemaRecord",
    "SkewRecord",
    "SpaceRecord",
    "SubscriptionRecord",
    "TrafficRecord",
    "ZoneRecord",
    "decode",
    "encode",
    "name",
]

FORMAT = "rookery.run"
FORMAT_VERSION = 1

LONGEST_NAME = 200
Name: TypeAlias = Annotated[str, Meta(max_length=LONGEST_NAME)]
Text: TypeAlias = Annotated[str, Meta(max_length=20_000)]
Count: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]
Amount: TypeAlias = Annotated[float, Meta(ge=0)]
Point: TypeAlias = Annotated[tuple[float, ...], Meta(max_length=32)]
Instant: TypeAlias = Annotated[int, Meta(ge=0, le=2**53)]


def _kind(class_name: str) -> str:
    """Return how a record's class is called in a file."""
    return class_name.removesuffix("Record").lower()


class _Record(msgspec.Struct, frozen=True, tag_field="kind", tag=_kind, omit_defaults=True, kw_only=True):
    """What every record has."""

    at: Instant


class RunRecord(_Record, frozen=True):
    """The first line of a producer's file."""

    format: str = FORMAT
    version: int = FORMAT_VERSION
    title: Name = ""


class ParticipantRecord(_Record, frozen=True):
    """A participant of a DDS domain, or a peer of another network."""

    id: Name
    name: Name = ""
    vendor: Name = ""
    island: Name = ""
    #: The kind of discovery summary that it sends; empty for plain announcements.
    summary: Name = ""
    writers: Count = 0
    readers: Count = 0
    #: Participants it exchanges endpoints with, and how many of them share no matched pair with it.
    contacts: Count = 0
    false_contacts: Count = 0
    gone: bool = False


class EndpointRecord(_Record, frozen=True):
    """A reader or a writer."""

    id: Name
    participant: Name
    role: Name
    topic: Name
    type_name: Name = ""
    gone: bool = False


class EdgeRecord(_Record, frozen=True):
    """A writer and a reader that were matched."""

    writer: Name
    reader: Name
    #: The participants of the two: a page that draws them needs no table of endpoints.
    source: Name
    target: Name
    topic: Name = ""
    gone: bool = False


class IslandRecord(_Record, frozen=True):
    """A site; `octets` is what it has sent to other sites."""

    id: Name
    joined: Annotated[tuple[Name, ...], Meta(max_length=1000)] = ()
    octets: Count = 0
    gone: bool = False


class TrafficRecord(_Record, frozen=True):
    """What a discovery protocol (or data) has cost so far, in total."""

    protocol: Name
    octets: Count
    datagrams: Count = 0
    contacts: Count = 0
    false_contacts: Count = 0


class AxisRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """An attribute that spans the space, and the range that [0, 1) stands for."""

    attribute: Name
    low: float = 0.0
    high: float = 1.0


class SpaceRecord(_Record, frozen=True):
    """The event space; the first two axes are drawn unless the reader chooses others."""

    axes: Annotated[tuple[AxisRecord, ...], Meta(min_length=1, max_length=32)]


class ZoneRecord(_Record, frozen=True):
    """A zone, its corners in [0, 1), its owner, and what it carries."""

    id: Name
    lower: Point
    upper: Point
    owner: Name = ""
    load: Count = 0
    subscriptions: Count = 0
    #: Of a live owner: events a second, events in flight, takeovers; where it is on the network, in ms, how badly that
    #: predicts round trips, and how much longer its ways over brokers are than the direct ones.
    rate: Amount | None = None
    backlog: Count | None = None
    takeovers: Count | None = None
    coordinates: Point = ()
    error: Amount | None = None
    stretch: Amount | None = None
    gone: bool = False


class EventRecord(_Record, frozen=True):
    """An event that was published: where it lies, who wants it."""

    id: Name
    topic: Name = ""
    point: Point = ()
    zone: Name = ""
    matched: Count = 0
    #: The event's own time, for dated subscriptions: ISO 8601.
    time: Name | None = None
    values: dict[Name, Any] = {}


class CarriedRecord(_Record, frozen=True):
    """How many events a network has carried so far, where whoever records it does not see each of them."""

    events: Count


class RouteRecord(_Record, frozen=True):
    """The zones that an event passes under a scheme, from its publisher's to its owner's."""

    event: Name
    scheme: Name
    zones: Annotated[tuple[Name, ...], Meta(max_length=5000)]


class SchemaRecord(_Record, frozen=True):
    """The schema of a topic, as `rookery.Schema.to_dict` writes it."""

    attributes: dict[Name, Any]
    topic: Name = ""


class SubscriptionRecord(_Record, frozen=True):
    """A subscription of a topic."""

    id: Name | int
    where: Text
    topic: Name = ""
    version: int = 1
    valid_from: Name | None = None
    valid_to: Name | None = None
    gone: bool = False


class Predicate(msgspec.Struct, frozen=True, omit_defaults=True):
    """One predicate of a row: what it says of the event, and whether it decided."""

    text: Text
    verdict: bool | None
    values: dict[str, Any] = {}
    depth: Count = 0
    decided: bool = False


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one subscription says of an event."""

    subscription_id: Name | int
    version: int
    matched: bool
    reason: Text
    predicates: Annotated[tuple[Predicate, ...], Meta(max_length=2000)] = ()


class ExplanationRecord(_Record, frozen=True):
    """Why an event matched some subscriptions and not others; `total` is how many there were to ask."""

    event: Name
    rows: Annotated[tuple[Row, ...], Meta(max_length=1000)]
    total: Count = 0


class BatchRecord(_Record, frozen=True):
    """A micro-batch of a Spark stream, or a batch job: `number` counts from 0."""

    query: Name
    number: Count
    rows: Count
    seconds: Amount
    rows_per_second: Amount = 0.0
    #: The version of the rule set that judged it.
    set_version: Count = 0


class SkewRecord(_Record, frozen=True):
    """Events, subscriptions and load by zone of a Spark job; `skew` is a zone's load over the mean."""

    query: Name
    zones: Annotated[tuple[tuple[Count, Count, Count, Amount], ...], Meta(max_length=10_000)]


class LedgerRecord(_Record, frozen=True):
    """What became of the events of one source, in total: `missed` and `extra` against what an oracle expected."""

    source: Name
    published: Count = 0
    expected: Count = 0
    delivered: Count = 0
    duplicated: Count = 0
    missed: Count = 0
    extra: Count = 0


class NoteRecord(_Record, frozen=True):
    """A line for people."""

    text: Text


Record: TypeAlias = (
    RunRecord | ParticipantRecord | EndpointRecord | EdgeRecord | IslandRecord | TrafficRecord | SpaceRecord
    | ZoneRecord | EventRecord | CarriedRecord | RouteRecord | SchemaRecord | SubscriptionRecord | ExplanationRecord
    | BatchRecord | SkewRecord | LedgerRecord | NoteRecord
)  # fmt: skip

_DECODER: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)
_ENCODER = msgspec.json.Encoder(enc_hook=str)


def name(text: str) -> str:
    """Return a name of the network, which may be anything, as one that a record can hold."""
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def encode(record: Record) -> bytes:
    """Write a record as one line."""
    return _ENCODER.encode(record) + b"\n"


def decode(line: bytes) -> Record:
    """Read a line; raise `RunError` with what is wrong."""
    try:
        record = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RunError(f"no record of a run: {error}") from error
    if isinstance(record, RunRecord) and (record.format, record.version) != (FORMAT, FORMAT_VERSION):
        raise RunError(
            f"a run of format {record.format!r} version {record.version}; this Rookery reads {FORMAT} {FORMAT_VERSION}"
        )
    return record
