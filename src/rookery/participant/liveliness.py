"""Which writers are alive: the writer liveliness protocol (RTPS 2.5, 8.4.13; DDS 1.4, 2.2.3.11).

A writer with a finite lease promises a sign of life that often, and a reader that is paired with it reports when none
comes (`LivelinessChanged`), and when one comes again. What counts as a sign is the writer's choice:

- *automatic*: that its participant runs. We say so in a participant message four times in the shortest lease, and take
  any datagram of another's for it.
- *manual by participant*: that the program writes with, or asserts, some writer of this kind in the participant. That
  is said in a participant message, at once, and then no more often than four times in the shortest lease.
- *manual by topic*: that the program writes with, or asserts, this very writer: a sample, or a HEARTBEAT that says so.

A program that does not keep a promise of the manual kinds hears of it itself (`LivelinessLost`). The endpoints of
participant messages are matched where something depends on them, and with unmodified peers, which speak to them first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Final

from rookery.rtps.announcements import EndpointAnnouncement
from rookery.rtps.context import ParticipantContext
from rookery.rtps.events import LivelinessChanged, LivelinessLost, SampleKind
from rookery.rtps.history import History
from rookery.rtps.identity import PREFIX_LENGTH, BuiltinEndpoint, Guid
from rookery.rtps.qos import INFINITE, Liveliness
from rookery.rtps.reader import Reader, Received
from rookery.rtps.writer import Writer

__all__ = ["MESSAGE_WRITER", "WriterLivelinessProtocol"]

MESSAGE_WRITER: Final = 0x000200C2
MESSAGE_READER: Final = 0x000200C7
#: How often in a lease the participant says that it runs, and at most that the program does: two can be lost.
_AUTOMATIC_EACH: Final = 4
_MANUAL_EACH: Final = 4
_CDR_LE: Final = b"\0\1\0\0"
#: The kinds of participant messages (RTPS 2.5, 9.6.3.2).
_SAYS: Final = {Liveliness.AUTOMATIC: b"\0\0\0\1", Liveliness.MANUAL_BY_PARTICIPANT: b"\0\0\0\2"}


@dataclass(slots=True)
class _Promise:
    """What one of our writers has promised."""

    kind: Liveliness
    lease: int
    writer: Writer
    asserted: int
    kept: bool = True


@dataclass(slots=True)
class _Watched:
    """A writer that readers of ours rely on."""

    kind: Liveliness
    lease: int
    asserted: int
    alive: bool = True
    readers: dict[Guid, None] = field(default_factory=dict)


class WriterLivelinessProtocol:
    """The signs of life of one participant's writers, and those that its readers wait for."""

    def __init__(self, context: ParticipantContext) -> None:
        self._context = context
        #: Our writers with a lease; what they write is told to `written`.
        self.promises: dict[Guid, _Promise] = {}
        #: Writers with a lease that our readers are paired with; their samples are told to `sample`.
        self.watched: dict[Guid, _Watched] = {}
        #: Participants of whose automatic writers some are taken for dead; a word of them is told to `heard`.
        self.silent: dict[bytes, None] = {}
        self._by_participant: dict[bytes, dict[Guid, None]] = {}
        self._said = -INFINITE
        history = History(depth=1, keeps_for_late_readers=False, at_most=len(_SAYS) + 1)
        self._writer = Writer(Guid(context.prefix, MESSAGE_WRITER), history=history, context=context)
        self._reader = Reader(Guid(context.prefix, MESSAGE_READER), deliver=self._take, context=context)

    # ---- what we promise -----------------------------------------------------------------------------------------

    def promise(self, announcement: EndpointAnnouncement, writer: Writer, now: int) -> None:
        """Take in a writer of ours: it is alive from now on, as its policy has it."""
        qos, guid = announcement.qos, announcement.guid
        if qos.liveliness_lease >= INFINITE:
            return
        self.promises[guid] = _Promise(qos.liveliness, qos.liveliness_lease, writer, now)
        if qos.liveliness is Liveliness.AUTOMATIC:
            self._context.deadlines.arm_sooner(("liveliness", "automatic"), now, self._say_periodically)
        else:
            due = now + qos.liveliness_lease
            self._context.deadlines.arm(("liveliness", "kept", guid), due, partial(self._check_kept, guid))

    def withdraw(self, writer: Guid) -> None:
        """Take out a writer of ours."""
        if self.promises.pop(writer, None) is not None:
            self._context.deadlines.cancel(("liveliness", "kept", writer))

    def written(self, writer: Guid, now: int) -> None:
        """Note that a writer of ours has written, disposed or unregistered."""
        promise = self.promises.get(writer)
        if promise is None or promise.kind is Liveliness.AUTOMATIC:
            return
        if promise.kind is Liveliness.MANUAL_BY_PARTICIPANT:
            self.assert_participant(now)
        else:
            self._keep(writer, promise, now)

    def assert_writer(self, writer: Guid, now: int) -> None:
        """Give a sign of life for a writer that has nothing to write."""
        promise = self.promises.get(writer)
        if promise is not None and promise.kind is Liveliness.MANUAL_BY_TOPIC:
            promise.writer.assert_liveliness()
        self.written(writer, now)

    def assert_participant(self, now: int) -> None:
        """Give a sign of life for all writers whose liveliness is manual by participant."""
        kind, leases = Liveliness.MANUAL_BY_PARTICIPANT, []
        for guid, promise in self.promises.items():
            if promise.kind is kind:
                leases.append(promise.lease)
                self._keep(guid, promise, now)
        if leases:
            # Who asserts often is not passed on each time: a message that waits is newer than what it stands for.
            due = max(now, self._said + min(leases) // _MANUAL_EACH)
            if due == now:
                self._say_manual(now)
            else:
                self._context.deadlines.arm_sooner(("liveliness", "manual"), due, self._say_manual)

    def serve(self, prefix: bytes, now: int) -> None:
        """Begin to tell a participant of signs of life, if it listens to them."""
        peer, reader = self._context.peers.get(prefix), Guid(prefix, MESSAGE_READER)
        listens = BuiltinEndpoint.PARTICIPANT_MESSAGE_READER
        if peer is None or reader in self._writer.readers or not peer.announcement.builtin_endpoints & listens:
            return
        destination = peer.metatraffic_destination
        self._writer.match(reader, destination=destination, reliable=True, with_history=False, now=now)

    def _keep(self, writer: Guid, promise: _Promise, now: int) -> None:
        promise.asserted = now
        if not promise.kept:
            promise.kept = True
            due = now + promise.lease
            self._context.deadlines.arm(("liveliness", "kept", writer), due, partial(self._check_kept, writer))
        self._assert(writer, now)  # readers of this participant

    def _check_kept(self, writer: Guid, now: int) -> None:
        promise = self.promises.get(writer)
        if promise is None:
            return
        due = promise.asserted + promise.lease
        if due > now:
            self._context.deadlines.arm(("liveliness", "kept", writer), due, partial(self._check_kept, writer))
        else:
            promise.kept = False
            self._context.report(LivelinessLost(writer))

    def _say_periodically(self, now: int) -> None:
        leases = [one.lease for one in self.promises.values() if one.kind is Liveliness.AUTOMATIC]
        if leases:
            self._say(Liveliness.AUTOMATIC, now)
            again = now + max(min(leases) // _AUTOMATIC_EACH, 1)
            self._context.deadlines.arm(("liveliness", "automatic"), again, self._say_periodically)

    def _say_manual(self, now: int) -> None:
        self._said = now
        self._context.deadlines.cancel(("liveliness", "manual"))
        self._say(Liveliness.MANUAL_BY_PARTICIPANT, now)

    def _say(self, kind: Liveliness, now: int) -> None:
        if self._writer.readers:
            name = self._context.prefix + _SAYS[kind]
            self._writer.write(SampleKind.ALIVE, name, _CDR_LE + name + bytes(4), timestamp=None, now=now)

    # ---- what we wait for ----------------------------------------------------------------------------------------

    def watch(self, reader: Guid, writer: EndpointAnnouncement, now: int) -> None:
        """Wait for a writer's signs of life, on behalf of a reader that is paired with it."""
        qos, guid = writer.qos, writer.guid
        is_own = guid.prefix == self._context.prefix
        if qos.liveliness_lease >= INFINITE or (is_own and qos.liveliness is Liveliness.AUTOMATIC):
            return
        watched = self.watched.get(guid)
        if watched is None:
            watched = self.watched[guid] = _Watched(qos.liveliness, qos.liveliness_lease, now)
            self._by_participant.setdefault(guid.prefix, {})[guid] = None
            self._wait(guid, now + watched.lease)
        watched.readers[reader] = None
        if not watched.alive:
            self._context.report(LivelinessChanged(reader, guid, alive=False))

    def forget_reader(self, reader: Guid) -> None:
        """Wait for nothing on behalf of a reader any more."""
        for guid in [guid for guid, watched in self.watched.items() if reader in watched.readers]:
            del self.watched[guid].readers[reader]
            if not self.watched[guid].readers:
                self.forget_writer(guid)

    def forget_writer(self, writer: Guid) -> None:
        """Wait for a writer no more: it is gone."""
        if self.watched.pop(writer, None) is not None:
            self._context.deadlines.cancel(("liveliness", "alive", writer))
            of_one = self._by_participant[writer.prefix]
            del of_one[writer]
            if not of_one:
                del self._by_participant[writer.prefix]
                self.silent.pop(writer.prefix, None)

    def sample(self, writer: Guid, now: int) -> None:
        """Take a sample, or a HEARTBEAT that says so, for a sign of life of its writer."""
        watched = self.watched.get(writer)
        if watched is None:
            return
        if watched.kind is Liveliness.MANUAL_BY_PARTICIPANT:
            self._assert_all(writer.prefix, watched.kind, now)
        else:
            self._assert(writer, now)

    def heard(self, prefix: bytes, now: int) -> None:
        """Take any word of a participant for a sign of life of its automatic writers."""
        self.silent.pop(prefix, None)
        self._assert_all(prefix, Liveliness.AUTOMATIC, now)

    def _assert_all(self, prefix: bytes, kind: Liveliness, now: int) -> None:
        for guid in tuple(self._by_participant.get(prefix, ())):
            if self.watched[guid].kind is kind:
                self._assert(guid, now)

    def _assert(self, writer: Guid, now: int) -> None:
        watched = self.watched.get(writer)
        if watched is None:
            return
        watched.asserted = now
        if not watched.alive:
            watched.alive = True
            self._wait(writer, now + watched.lease)
            for reader in watched.readers:
                self._context.report(LivelinessChanged(reader, writer, alive=True))

    def _wait(self, writer: Guid, due: int) -> None:
        self._context.deadlines.arm(("liveliness", "alive", writer), due, partial(self._check_alive, writer))

    def _check_alive(self, writer: Guid, now: int) -> None:
        watched = self.watched.get(writer)
        if watched is None:
            return
        if watched.kind is Liveliness.AUTOMATIC:
            peer = self._context.peers.get(writer.prefix)
            watched.asserted = max(watched.asserted, 0 if peer is None else peer.heard)
        due = watched.asserted + watched.lease
        if due > now:
            self._wait(writer, due)
            return
        watched.alive = False
        if watched.kind is Liveliness.AUTOMATIC:
            self.silent[writer.prefix] = None
        for reader in watched.readers:
            self._context.report(LivelinessChanged(reader, writer, alive=False))

    # ---- the wire ------------------------------------------------------------------------------------------------

    def _take(self, writer: Guid, received: Received, now: int) -> None:
        said = received.payload
        if received.kind is not SampleKind.ALIVE:
            return
        if len(said) < len(_CDR_LE) + PREFIX_LENGTH + 4 or said[:1] != b"\0":
            self._context.reject(f"a participant message of {len(said)} octets")
            return
        prefix, kind = said[4 : 4 + PREFIX_LENGTH], said[4 + PREFIX_LENGTH : 8 + PREFIX_LENGTH]
        if prefix != writer.prefix:
            self._context.reject("a sign of life in another's name")
        elif kind == _SAYS[Liveliness.MANUAL_BY_PARTICIPANT]:
            self._assert_all(prefix, Liveliness.MANUAL_BY_PARTICIPANT, now)
        elif kind == _SAYS[Liveliness.AUTOMATIC]:
            self._assert_all(prefix, Liveliness.AUTOMATIC, now)

    def reader_of(self, writer: Guid, now: int) -> Reader | None:
        """Return the reader of participant messages; who speaks to it is listened to from its first word on."""
        peer = self._context.peers.get(writer.prefix)
        if peer is None:
            return None
        if writer not in self._reader.writers:
            destination = peer.metatraffic_destination
            self._reader.match(writer, destination=destination, reliable=True, from_first=True, now=now, expected=True)
        return self._reader

    def be_asked(self, prefix: bytes, now: int) -> Writer:
        """Return the writer of participant messages for a reader that speaks to it."""
        self.serve(prefix, now)
        return self._writer

    @property
    def reader(self) -> Reader:
        """The reader of participant messages."""
        return self._reader

    def forget(self, prefix: bytes) -> None:
        """Stop talking to a participant that is gone."""
        self._writer.unmatch(Guid(prefix, MESSAGE_READER))
        self._reader.unmatch(Guid(prefix, MESSAGE_WRITER))
