"""What brokers say to each other. Every message is a msgspec struct, an array with an integer tag on the wire.

Two kinds: a `Routed` message travels over zones toward a point, its body being what to do there; all others go straight
to a broker. Transport is reliable while both ends live (TCP, or its model in the simulator); what a dead broker cannot
receive comes back to its sender as undeliverable.

Order: messages about events (`BatchMessage`) stay in order among each other, and so do all others, who owns what and
who is there. These others pass whatever waits that is about events, at the sender and at the receiver: however many
events there are, heartbeats and leases do not wait for them (`is_urgent`). That is safe, for whoever is told something
about events asks for his lease when he acts on it (`leases.py`), and never concludes from an event who owns its zone.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from rookery.brokers.balancing_messages import GiveZone, LoadReport, TakeZone
from rookery.brokers.batches import (
    POINT_SIZE,
    BatchMessage,
    DeliverBatch,
    ReplicasFetched,
    Replicate,
    RoutedBatch,
    is_readable,
)
from rookery.brokers.distance_messages import DistanceMessage, LandmarkMap, is_map_of
from rookery.brokers.ownership import ZoneOwnership
from rookery.brokers.versions import Version
from rookery.space.zones import AxisCut, Path, Point

__all__ = [
    "Body",
    "BrokerHeartbeat",
    "EventId",
    "FindOwner",
    "FindResidents",
    "JoinRequest",
    "Message",
    "OwnerFound",
    "PlaceSubscriptions",
    "PlacedSubscription",
    "PutResident",
    "Rank",
    "ReplicateSubscriptions",
    "ResidentChanged",
    "ResidentsFound",
    "Routed",
    "Transfer",
    "TransferConfirmed",
    "ZoneMessage",
    "ZoneReport",
    "ZoneState",
    "fits",
    "is_urgent",
    "is_urgent_frame",
]

#: The publishing client and the number that it gave the event.
EventId: TypeAlias = tuple[int, int]


#: The version of a subscription and its access broker: of two with one id the greater is the later.
Rank: TypeAlias = tuple[int, int]


class PlacedSubscription(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A client's WHERE clause, the box that bounds it, and the broker that the client is attached to."""

    subscription_id: str
    version: Version
    where: str
    parameters: tuple[Any, ...]
    lower: Point
    upper: Point
    access_broker: int
    #: Whether its zones keep it for as long as that broker keeps a client that is away, also without it.
    durable: bool = False

    @property
    def length(self) -> int:
        """How many characters it has, about."""
        return len(self.where) + len(self.subscription_id)

    @property
    def rank(self) -> Rank:
        """Of two with one id the greater is the later: all zones decide alike, in whatever order they hear of them."""
        return self.version, self.access_broker

    def is_same(self, other: PlacedSubscription) -> bool:
        """Tell whether this is what another one says, and not only under the same version."""
        return (self.rank, self.where) == (other.rank, other.where)


class ZoneState(msgspec.Struct, frozen=True, array_like=True):
    """A zone as it is handed over: the ownership that its new owner will have, and all that was known there."""

    ownership: ZoneOwnership
    neighbors: tuple[tuple[ZoneOwnership, int], ...]
    ancestors: tuple[ZoneOwnership, ...]
    subscriptions: tuple[tuple[PlacedSubscription, int], ...]
    sample: tuple[Point, ...]
    seen: int
    #: Algorithm 2's index: zone, the place in it, who resides, and the time that is left.
    index: tuple[tuple[Path, Point, ZoneOwnership, int], ...]
    #: Grace period left: the time until all subscriptions of the zone are known to be here.
    grace: int = 0
    #: Who located residents of a zone by that index: zone, who, and the time that is left.
    watchers: tuple[tuple[Path, int, int], ...] = ()
    #: Subscriptions that were taken back, and the time for which that is remembered.
    taken_back: tuple[tuple[str, Rank, int], ...] = ()


class ZoneReport(msgspec.Struct, frozen=True, array_like=True):
    """A zone as its owner tells its neighbors of it: its backups, and its neighbors with the age of that news."""

    ownership: ZoneOwnership
    backups: tuple[int, ...]
    neighbors: tuple[tuple[ZoneOwnership, int], ...]
    stamp: int


class BrokerHeartbeat(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """I am here, and these are my zones. `answer` asks for one back where the receiver thinks otherwise."""

    reports: tuple[ZoneReport, ...]
    answer: bool = True
    #: When this was sent, by the clock of the sender; and the latest stamp of the receiver's that is granted to it.
    stamp: int = 0
    grant: int = 0
    #: Whether the sender has no lease, and wants its grant at once.
    lacking: bool = False
    #: Ownerships that prevail over what the receiver has said it owns, with the age of that news.
    rivals: tuple[tuple[ZoneOwnership, int], ...] = ()
    #: For how long the sender has had the stamp that it grants: the rest of the time since then is the round trip.
    held: int = 0
    #: The number of the landmarks that the sender knows (`landmarks.py`), negative where it wants none.
    landmarks: int = -1


class Transfer(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """Take this zone; with `back` join it with its sibling, if that is yours, cut both there and give me the upper.

    `known_peers` are brokers that the giver knows of: they may be all that is left of another part of the network.
    """

    state: ZoneState
    back: AxisCut | None = None
    known_peers: tuple[int, ...] = ()


class TransferConfirmed(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """I have taken it."""

    path: Path
    epoch: int


class ReplicateSubscriptions(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Keep these subscriptions of my zone for the day I am gone; or, with `stored`, store them: the zone is yours."""

    path: Path
    added: tuple[tuple[PlacedSubscription, int], ...]
    removed: tuple[str, ...] = ()
    whole: bool = False
    stored: bool = False


class OwnerFound(msgspec.Struct, frozen=True, array_like=True, tag=8):
    """The point you asked for is mine."""

    ownership: ZoneOwnership
    #: That of the question.
    stamp: int = 0


class ResidentsFound(msgspec.Struct, frozen=True, array_like=True, tag=9):
    """What the coordinate index here knows of residents of a zone, and neighbors to ask if that is nothing."""

    zone: Path
    entries: tuple[ZoneOwnership, ...]
    neighbors: tuple[ZoneOwnership, ...] = ()


class ResidentChanged(msgspec.Struct, frozen=True, array_like=True, tag=11):
    """A zone that you located a resident of has a new one here, or has lost one."""

    zone: Path
    ownership: ZoneOwnership
    gone: bool


class JoinRequest(msgspec.Struct, frozen=True, array_like=True, tag=20):
    """A newcomer looks for a zone; `more` are points it will also look at, `best` the most loaded owner so far.

    One that knows which zone it is to have a half of says so, and where that is to be cut.
    """

    newcomer: int
    position: tuple[float, ...]
    more: tuple[Point, ...] = ()
    best: ZoneOwnership | None = None
    at: Path | None = None
    cut: AxisCut | None = None


class PlaceSubscriptions(msgspec.Struct, frozen=True, array_like=True, tag=22):
    """Subscriptions on their way to all zones that they meet below `depth` cuts of the path at the point."""

    subscriptions: tuple[PlacedSubscription, ...]
    depth: int
    removed: bool = False
    #: Whether the zones are to say that they have them.
    answer: bool = False
    #: Whether nobody owns the point: any zone that shares these cuts with it will do.
    around: bool = False


class FindOwner(msgspec.Struct, frozen=True, array_like=True, tag=23):
    """Who owns this point?"""

    asker: int
    #: When the question was asked, by the asker's clock, if it wants to know how long it took.
    stamp: int = 0


class PutResident(msgspec.Struct, frozen=True, array_like=True, tag=24):
    """Algorithm 2: note here that a broker resides in a zone, and its coordinates; withdrawn with `lease` 0."""

    zone: Path
    ownership: ZoneOwnership
    lease: int


class FindResidents(msgspec.Struct, frozen=True, array_like=True, tag=25):
    """Algorithm 3: which residents of a zone does the index at this point know?"""

    zone: Path
    asker: int


Body: TypeAlias = JoinRequest | PlaceSubscriptions | FindOwner | PutResident | FindResidents | LoadReport


class Routed(msgspec.Struct, frozen=True, array_like=True, tag=10):
    """A body on its way to a point; `source` and `via` are ownerships that every receiver learns from for free."""

    point: Point
    body: Body
    origin: int
    visited: tuple[int, ...] = ()
    source: ZoneOwnership | None = None
    via: ZoneOwnership | None = None


#: Who owns what, who is there, and who subscribes: all that is not about events.
ZoneMessage: TypeAlias = (
    BrokerHeartbeat
    | Transfer
    | TransferConfirmed
    | ReplicateSubscriptions
    | OwnerFound
    | ResidentsFound
    | ResidentChanged
    | Routed
    | DistanceMessage
    | GiveZone
    | TakeZone
)
Message: TypeAlias = ZoneMessage | BatchMessage


#: Messages about events have this tag or a greater one.
_FIRST_BATCH_TAG = 30


def is_urgent(message: Any) -> bool:
    """Tell whether a message passes those about events that wait; what clients say does not."""
    return isinstance(message, ZoneMessage)


def is_urgent_frame(frame: bytes) -> bool:
    """Tell the same of an encoded message: its tag is the first of an array of fewer than sixteen."""
    return len(frame) > 1 and frame[1] < _FIRST_BATCH_TAG


def fits(message: Message, dimensions: int) -> bool:
    """Tell whether the points and boxes of a message belong to a space of so many dimensions."""
    match message:
        case BrokerHeartbeat():  # most messages are, and each further pattern takes its time
            return True
        case Routed(point, body):
            if isinstance(body, JoinRequest):
                more = all(len(one) == dimensions for one in body.more)
                return more and len(point) in (0, dimensions)
            if isinstance(body, LoadReport) and not all(
                len(one) == dimensions for load in body.zones for one in load.sample
            ):
                return False
            if isinstance(body, PlaceSubscriptions) and not (
                body.subscriptions and all(_bounded(one, dimensions) for one in body.subscriptions)
            ):
                return False
            return len(point) == dimensions
        case Transfer(state):
            points = (*state.sample, *(point for _, point, _, _ in state.index))
            return all(len(point) == dimensions for point in points) and all(
                _bounded(subscription, dimensions) for subscription, _ in state.subscriptions
            )
        case ReplicateSubscriptions():
            return all(_bounded(subscription, dimensions) for subscription, _ in message.added)
        case RoutedBatch(batch, points):
            return is_readable(batch) and len(points) == POINT_SIZE * dimensions * batch.count
        case Replicate(batches) | ReplicasFetched(batches):
            return all(is_readable(batch) for _, batch in batches)
        case DeliverBatch(_, batch):
            rows = message.rows
            within = not rows or (min(rows) >= 0 and max(rows) < batch.count)
            return within and is_readable(batch) and len(rows) == len(message.names)
        case LandmarkMap():
            return is_map_of(message, dimensions)
    return True


def _bounded(subscription: PlacedSubscription, dimensions: int) -> bool:
    return len(subscription.lower) == len(subscription.upper) == dimensions
