"""The world: machines as processes on virtual time, links and disks, with faults from a seed.

What runs here is what runs live: the classes themselves, driven by `rookery.machine`'s protocol and by nothing else. A
history is a function of its seed. Faults: a process may crash without a word, be paused, or find its disk full; a link
may lose packets, or be cut in one direction or both. Each process has a monotonic clock of its own, which began when it
likes, and a wall clock that may step; `now` of its machine is the former.

A connection to a client is broken where its process dies, where the broker closes it, or where it is cut for long: then
both ends are told (`lose`), and what was on its way is gone. Between brokers what cannot be delivered comes back.
Machines that know their connections apart have `rookery.simulated.connections` between them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from rookery.machine import ClientId, Close, Compute, Emit, Machine, Multicast, Node, Read, Send, Write
from rookery.machine.log import RecordLog
from rookery.simulated.calendar import Calendar
from rookery.simulated.connections import Connections, LinkEnd
from rookery.simulated.disks import SimulatedDisk
from rookery.simulated.labor import Desk, Labor
from rookery.simulated.links import LinkConditions, Links

__all__ = ["Process", "World"]


@dataclass(slots=True)
class Process:
    """A machine with its clocks and its disk, until it crashes or ends."""

    node: Node
    machine: Machine
    disk: SimulatedDisk
    on_event: Callable[[Any], None]
    #: How far its monotonic clock is ahead of the calendar, and its wall clock of the time since 1970.
    clock: int = 0
    wall_clock: int = 0
    #: Where datagrams reach it.
    address: Node | None = None
    #: Where its records go, on its disk; None for a machine that writes none.
    log: RecordLog[Any] | None = None
    #: When it was last entered into the calendar to be woken.
    timer: int | None = None
    is_alive: bool = True
    #: Whether it stands still, and what it will be told when it does no more.
    is_paused: bool = False
    waiting: list[Callable[[], None]] = field(default_factory=list)
    #: What waits for it, where it takes time for what it is told.
    desk: Desk | None = None


class World:
    """Processes by their numbers; clients have numbers of their own kind (`ClientId`)."""

    def __init__(self, *, seed: int, conditions: LinkConditions | None = None) -> None:
        self.calendar = Calendar()
        self.random = Random(seed)
        self.links = Links(conditions or LinkConditions(), self.random)
        self.processes: dict[Node, Process] = {}
        #: The longest that a `Compute` lasts: each lasts as long as the seed says.
        self.compute_time = 0
        #: What processes but clients have to do for a message: nothing if it is None.
        self.labor: Labor | None = None
        #: Messages sent.
        self.messages = 0
        #: Sees every message as it is sent: sender, receiver, message.
        self.on_message: Callable[[Node, Node, Any], None] | None = None
        #: Connections of clients to brokers: what was sent over an earlier one does not arrive.
        self._connections: dict[tuple[Node, Node], int] = {}
        #: As whom a client reached a broker, by their connection: it may have had another number then.
        self._reached_as: dict[tuple[Node, Node], Node] = {}
        self._renamed: dict[Node, Node] = {}
        #: Clients and the names of brokers at the other end of a connection that is dead, before they are told: what
        #: they send is lost. They do not dial anew before they know.
        self._severed: set[tuple[Node, Node]] = set()
        self._connected = 0
        #: What waits for a cut to end, and the cuts that have lasted too long for that.
        self._stuck: dict[tuple[Node, Node], list[tuple[Any, int | None]]] = {}
        #: Who is reached at an address of UDP, and through a group of them.
        self._bound: dict[Node, Node] = {}
        self._groups: dict[Node, dict[Node, None]] = {}
        self._given_up: set[tuple[Node, Node]] = set()
        self.connections = Connections(self.calendar, self.links, lose=self._lose, deliver=self._deliver)

    @property
    def now(self) -> int:
        """The time, in microseconds."""
        return self.calendar.now

    def run(self, microseconds: int, *, until: Callable[[], bool] | None = None) -> bool:
        """Let time pass, at most so much of it, or until a condition holds; say whether it does."""
        return self.calendar.run(self.now + microseconds, condition=until)

    def settle(self) -> None:
        """Run until nothing is left to happen: without heartbeats, there is an end."""
        self.calendar.drain()

    # ---- processes -----------------------------------------------------------------------------------------------

    def start(
        self,
        node: Node,
        machine: Machine,
        on_event: Callable[[Any], None],
        *,
        disk: SimulatedDisk | None = None,
        log: RecordLog[Any] | None = None,
        clock: int = 0,
    ) -> Process:
        """Add a process; what its machine wants done is done at `perform`."""
        process = self.processes[node] = Process(node, machine, disk or SimulatedDisk(), on_event, clock, log=log)
        return process

    def time(self, node: Node) -> int:
        """Return the time by the monotonic clock of a process: `now` for the commands that are given to it."""
        return self.now + self.processes[node].clock

    def wall_time(self, node: Node) -> int:
        """Return the time since 1970 by the wall clock of a process, in microseconds."""
        return self.now + self.processes[node].wall_clock

    def step_clock(self, node: Node, microseconds: int) -> None:
        """Set the wall clock of a process forward, or back."""
        self.processes[node].wall_clock += microseconds

    def bind(self, node: Node, address: Node) -> None:
        """Let datagrams to an address reach a process, and those that it sends come from there."""
        self._bound[address] = node
        self.processes[node].address = address

    def join_group(self, group: Node, node: Node) -> None:
        """Let what is sent to a group reach a process too, as `Multicast`; the sender hears itself."""
        self._groups.setdefault(group, {})[node] = None

    def end(self, node: Node) -> SimulatedDisk:
        """End a process, at its own wish or by a crash; return its disk."""
        process = self.processes.pop(node)
        process.is_alive = False
        self.links.forget(node)
        self.connections.process_ended(node)
        for group in self._groups.values():
            group.pop(node, None)
        if self._bound.get(process.address) == node:
            del self._bound[process.address]
        for connection in [connection for connection in self._connections if node in connection]:
            del self._connections[connection]
            if node == connection[1]:
                self._severed.add((connection[0], self._reached_as.get(connection, node)))
            self.calendar.after(self.links.conditions.refusal, self._miss(connection, node))
        return process.disk

    def rename(self, before: Node, now: Node) -> None:
        """Let clients that know a process by an earlier number reach it: an address outlives who listens there."""
        self._renamed[before] = now

    def pause(self, node: Node) -> None:
        """Let a process stand still: what comes meanwhile waits for it, and clients that hear nothing give it up."""
        process = self.processes[node]
        process.is_paused = True
        if not isinstance(node, ClientId):
            self.calendar.after(self.links.conditions.silence, lambda: self._leave_silent(process))

    def _leave_silent(self, process: Process) -> None:
        if process.is_alive and process.is_paused:
            for connection in [one for one in self._connections if process.node in one]:
                self._break(*connection, told=connection)()
            self.calendar.after(self.links.conditions.silence, lambda: self._leave_silent(process))

    def resume(self, node: Node) -> None:
        """Let a process go on, with all that has come meanwhile."""
        process = self.processes[node]
        process.is_paused = False
        waiting, process.waiting = process.waiting, []
        for call in waiting:
            self._call(process, call)

    def disconnect(self, client: ClientId) -> None:
        """Break the connection of a client; both ends learn of it."""
        for connection in [connection for connection in self._connections if client in connection]:
            self._break(*connection, told=connection)()

    def perform(self, process: Process) -> None:
        """Do what a machine wants done, and set its timer. To be called after every call of it."""
        machine, node = process.machine, process.node
        for effect in machine.effects():
            if type(effect) is Send:  # the most frequent by far, and a pattern is slower
                self._send(node, *effect)
                continue
            match effect:
                case Write():
                    self.calendar.after(process.disk.write_time, lambda effect=effect: self._written(process, effect))  # type: ignore[misc]
                case Read():
                    self.calendar.after(process.disk.write_time, lambda effect=effect: self._read(process, effect))  # type: ignore[misc]
                case Compute():
                    self._compute(process, effect)
                case Close(LinkEnd() as end, _):
                    self.connections.close(end)
                case Close(other, _):
                    # After what was sent before: the connection is over at the other end when that has arrived.
                    other = self._renamed.get(other, other)
                    arrival = self.links.arrival(node, other, self.now)
                    self.calendar.at(arrival, self._break(*_connection(node, other), told=(other,)))
                case Emit(event):
                    process.on_event(event)
        when = machine.timer()
        if when is not None and process.timer != when:
            process.timer = when
            self.calendar.at(max(when - process.clock, self.calendar.now), partial(self._wake, process, when))

    def _wake(self, process: Process, when: int) -> None:
        if process.is_alive and process.timer == when:
            if process.desk is not None and process.desk.busy_until > self.now:
                process.desk.interrupt(partial(self._wake, process, when))
                return
            process.timer = None
            self._call(process, lambda: process.machine.wake(self.now + process.clock))

    def _written(self, process: Process, write: Write) -> None:
        if process.is_alive:  # else it died while it wrote
            failure = _append(process, write)
            self._call(process, lambda: process.machine.completed(write, failure, self.now + process.clock))

    def _read(self, process: Process, read: Read) -> None:
        if process.is_alive:
            assert process.log is not None, "a machine that reads needs a log"
            found = process.log.read_all(read.keys)
            self._call(process, lambda: process.machine.completed(read, found, self.now + process.clock))

    def _compute(self, process: Process, effect: Compute) -> None:
        """Do a task when it is asked for, or when it is over: what it works on is its own, so that is all the same."""
        lasts = self.random.randrange(self.compute_time + 1)
        results = [effect.task()] if lasts % 2 else []

        def computed() -> None:
            result = results[0] if results else effect.task()
            self._call(process, lambda: process.machine.completed(effect, result, self.now + process.clock))

        self.calendar.after(lasts, computed)

    def _call(self, process: Process, call: Callable[[], None]) -> None:
        """Tell a machine something, when its process is awake, and do what it wants done."""
        if process.is_paused:
            process.waiting.append(call)
        elif process.is_alive:
            call()
            self.perform(process)

    # ---- messages ------------------------------------------------------------------------------------------------

    def _send(self, sender: Node, receiver: Node, message: Any) -> None:
        self.messages += 1
        if self.links.is_datagram(receiver):
            self._send_datagram(sender, receiver, message)
            return
        if isinstance(receiver, LinkEnd):
            if self.on_message is not None:
                self.on_message(sender, receiver, message)
            self.connections.send(receiver, message)
            return
        name = receiver
        if isinstance(sender, ClientId):
            if (sender, name) in self._severed:
                return
            while receiver in self._renamed:
                receiver = self._renamed[receiver]
        if self.on_message is not None:
            self.on_message(sender, receiver, message)
        connection = None
        if isinstance(sender, ClientId) or isinstance(receiver, ClientId):
            pair = _connection(sender, receiver)
            connection = self._connections.get(pair)
            if connection is None:
                if not isinstance(sender, ClientId):
                    return  # the client is gone
                self._connected += 1
                connection = self._connections[pair] = self._connected
                self._reached_as[pair] = name
        now = self.calendar.now
        arrival = self.links.arrival(sender, receiver, now)
        self.calendar.at(arrival, partial(self._arrive, sender, receiver, message, connection))
        if connection is None:
            for again in self.links.repeated(sender, receiver, message, now):
                self.calendar.at(arrival, partial(self._arrive, sender, receiver, again, None))

    def _send_datagram(self, sender: Node, receiver: Node, message: Any) -> None:
        if self.on_message is not None:
            self.on_message(sender, receiver, message)
        address, group = self.processes[sender].address, self._groups.get(receiver)
        source = sender if address is None else address
        for node in (self._bound.get(receiver, receiver),) if group is None else group:
            arriving = message if group is None else Multicast(message)
            for when in self.links.copies(sender, node, self.calendar.now):
                self.calendar.at(when, partial(self._take, node, arriving, source))

    def _take(self, receiver: Node, message: Any, source: Node) -> None:
        """Let a datagram arrive, if there is somebody."""
        process = self.processes.get(receiver)
        if process is not None:
            self._tell(process, message, source)

    def _tell(self, process: Process, message: Any, source: Node) -> None:
        """Give a process a message, at once or when it has the time."""
        if self.labor is None or isinstance(process.node, ClientId):
            self._tell_now(process, message, source)
            return
        if process.desk is None:
            process.desk = Desk(self.labor, self.calendar, partial(self._tell_now, process))
        process.desk.add(message, source)

    def _tell_now(self, process: Process, message: Any, source: Node) -> None:
        """Give a process a message. As `_call` does it, with two calls less: this is where a world's time goes."""
        if not process.is_alive:
            return
        if process.is_paused:
            process.waiting.append(lambda: process.machine.receive_many((message,), source, self.now + process.clock))
        else:
            process.machine.receive_many((message,), source, self.calendar.now + process.clock)
            self.perform(process)

    def _arrive(self, sender: Node, receiver: Node, message: Any, connection: int | None) -> None:
        if connection is not None and self._connections.get(_connection(sender, receiver)) != connection:
            return
        if self.links.is_cut(sender, receiver):
            if (sender, receiver) in self._given_up:
                self._refuse(sender, receiver, message)
            else:
                self._stuck.setdefault((sender, receiver), []).append((message, connection))
            return
        process = self.processes.get(receiver)
        if process is None:
            self._refuse(sender, receiver, message)
        else:
            self._tell(process, message, self._name_of(sender, receiver))

    def _deliver(self, end: LinkEnd, message: Any) -> None:
        self._tell(self.processes[end.node], message, end)

    def _lose(self, end: LinkEnd) -> None:
        process = self.processes[end.node]
        self._call(process, lambda: process.machine.lose(end, self.now + process.clock))

    def _refuse(self, sender: Node, receiver: Node, message: Any) -> None:
        self.calendar.after(self.links.conditions.refusal, lambda: self._return(sender, receiver, message))

    def _return(self, sender: Node, receiver: Node, message: Any) -> None:
        if isinstance(sender, ClientId) or isinstance(receiver, ClientId):
            self._break(*_connection(sender, receiver), told=(sender, receiver))()
        elif sender in self.processes:
            process = self.processes[sender]
            self._call(process, lambda: process.machine.undeliverable(message, receiver, self.now + process.clock))

    # ---- cuts ----------------------------------------------------------------------------------------------------

    def cut(self, one: Node, other: Node, *, both_ways: bool = True) -> None:
        """Let nothing pass from one to the other, and back; what is sent waits until both ends give it up."""
        self.links.cut(one, other, both_ways=both_ways)
        for pair in ((one, other), (other, one))[: 2 if both_ways else 1]:
            self.calendar.after(self.links.conditions.silence, lambda pair=pair: self._give_up(pair))  # type: ignore[misc]

    def mend(self, one: Node, other: Node) -> None:
        """Let everything pass again, in order."""
        self.links.mend(one, other)
        self.connections.mended(one, other)
        for sender, receiver in ((one, other), (other, one)):
            self._given_up.discard((sender, receiver))
            for message, connection in self._stuck.pop((sender, receiver), ()):
                self._arrive(sender, receiver, message, connection)

    def _give_up(self, pair: tuple[Node, Node]) -> None:
        if self.links.is_cut(*pair):
            self._given_up.add(pair)
            self.connections.give_up(*pair)
            for message, _ in self._stuck.pop(pair, ()):
                self._return(*pair, message)

    # ---- connections of clients ----------------------------------------------------------------------------------

    def _break(self, client: Node, broker: Node, *, told: tuple[Node, ...]) -> Callable[[], None]:
        """Return the end of a connection, as it is now; whoever is told and lives learns of it."""
        connection = self._connections.get((client, broker))

        def over() -> None:
            if connection is None or self._connections.get((client, broker)) != connection:
                return
            del self._connections[client, broker]
            for node, other in ((client, broker), (broker, client)):
                process = self.processes.get(node)
                if node in told and process is not None:
                    self._tell_lost(process, other)

        return over

    def _name_of(self, node: Node, seen_by: Node) -> Node:
        """Return the number under which a process is known to another one."""
        return self._reached_as.get((seen_by, node), node) if isinstance(seen_by, ClientId) else node

    def _miss(self, connection: tuple[Node, Node], dead: Node) -> Callable[[], None]:
        """Return what tells the other end of a connection that a process has died, unless there is a new one."""
        (other,) = set(connection) - {dead}
        severed = (connection[0], self._reached_as.get(connection, connection[1]))

        def told() -> None:
            self._severed.discard(severed)
            process = self.processes.get(other)
            if process is not None and connection not in self._connections:
                self._tell_lost(process, dead)

        return told

    def _tell_lost(self, process: Process, other: Node) -> None:
        known = self._name_of(other, process.node)
        self._call(process, lambda: process.machine.lose(known, self.now + process.clock))


def _append(process: Process, write: Write) -> str | None:
    """Write to the log of a process as its live driver does; return why the disk did not take it, or None."""
    assert process.log is not None, "a machine that writes needs a log"
    try:
        process.log.append([process.log.group(write.entries, write.done)], sync=write.token is not None)
    except OSError as error:
        return f"the broker's disk did not take it: {error.strerror}"
    return None


def _connection(one: Node, other: Node) -> tuple[Node, Node]:
    """Return the client and the broker of two, in this order."""
    return (one, other) if isinstance(one, ClientId) else (other, one)
