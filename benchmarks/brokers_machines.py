"""CPU of brokers per event with 1 to 16 brokers in one process: their machines and their bytes, without sockets.

`python -m benchmarks brokers_machines [--sizes 1 2 4] [--events N] [--bulk N] [--profile]`. The workload is that of
`brokers_scaling`, which runs processes: a publisher at the first broker, six subscribers at brokers in turn, each
event satisfies one of 2,000 conditions of each. Here every message is encoded, queued and decoded as the live server
does it, and what has come from one sender is handed over together; so a busy machine changes the figures little, and a
profile shows where they come from. `--bulk N` opens N subscriptions of one client instead, and says what renewing
them costs.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import itertools
import operator
import pstats
import resource
import time
from collections import deque
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from benchmarks.brokers_live import SCHEMA, an_event
from benchmarks.brokers_scaling import SUBSCRIBERS, WARM, bulk_conditions, conditions

from rookery.brokers.broker import Broker
from rookery.brokers.client import ClientMachine
from rookery.brokers.client_events import Delivered, InForce
from rookery.brokers.client_messages import FromBroker, FromClient
from rookery.brokers.configuration import BrokerConfiguration, BrokerDurability
from rookery.brokers.messages import Message
from rookery.brokers.records import BrokerRecords, open_records
from rookery.cli.notations import read_schema, read_space
from rookery.live.disk import FolderDisk
from rookery.machine import ClientId, Close, Compute, Emit, Send, Write

__all__ = ["main"]

_encode = msgspec.msgpack.Encoder().encode
_MESSAGES = msgspec.msgpack.Decoder(Message)
_REQUESTS = msgspec.msgpack.Decoder(FromClient)
_REPLIES = msgspec.msgpack.Decoder(FromBroker)
#: Frames that a server handles in one turn.
SLICE = 128
#: Microseconds between two turns of everybody.
TURN = 200


class Network:
    """Brokers and clients that take turns."""

    def __init__(self, *, memory: int = 1 << 30, disks: Path | None = None) -> None:
        """Begin without brokers; where there is a folder for `disks` an event is accepted when it is on two of them."""
        self.now = 1
        self._disks = disks
        self._logs: dict[int, BrokerRecords] = {}
        self.brokers: dict[int, Broker] = {}
        self.clients: dict[ClientId, ClientMachine] = {}
        self._queues: dict[Any, deque[tuple[Any, bytes]]] = {}
        #: CPU seconds of the brokers, and how many messages and bytes they sent.
        self.spent = 0.0
        self.messages = self.octets = 0
        self.seen: dict[ClientId, int] = {}
        self.in_force: set[ClientId] = set()
        #: Where the brokers' time goes, if that is wanted.
        self.profile: cProfile.Profile | None = None
        self.configuration = BrokerConfiguration(
            space=read_space("price:0:1000,symbol", read_schema(SCHEMA)),
            topic="quotes",
            beat=1_000_000,
            durability=BrokerDurability.MEMORY if disks is None else BrokerDurability.TWO_DISKS,
            backlog=10_000_000,
            memory=memory,
            most_subscriptions=10_000_000,
        )

    def join(self) -> None:
        """Add a broker, and wait until it has a zone."""
        number = len(self.brokers) + 1
        broker = Broker(number, self.configuration, Random(number))
        self._queues[number] = deque()
        self.brokers[number] = broker
        if self._disks is not None:
            self._logs[number] = open_records(FolderDisk(self._disks / str(number)))
        if number == 1:
            broker.start(self.now)
        else:
            broker.join(1, self.now)
        self._perform(number)
        while len(broker.owned) != 1:
            self.turn(TURN * 100)
        for _ in range(300):  # heartbeats: leases are held, neighbors known
            self.turn(TURN * 100)

    def attach(self, broker: int) -> ClientId:
        """Add a client of a broker."""
        client = ClientId(1000 + len(self.clients))
        self.clients[client] = ClientMachine(client.number, [broker], retry=1 << 60, window=1 << 40)
        self._queues[client] = deque()
        self.clients[client].start(self.now)
        self._perform(client)
        while not self.clients[client].is_attached:
            self.turn(TURN)
        return client

    def publish(self, client: ClientId, numbers: range) -> None:
        """Publish events, as many as fit a batch a turn, and wait until they are accepted."""
        machine = self.clients[client]
        for start in range(numbers.start, numbers.stop, 1024):
            for number in range(start, min(start + 1024, numbers.stop)):
                machine.publish(an_event(number), self.now)
            self._perform(client)
            self.turn(TURN)
        while machine.in_flight:
            self.turn(TURN)

    def turn(self, step: int) -> None:
        """Let everybody take what waits for him."""
        self.now += step
        for node in (*self.brokers, *self.clients):
            queue = self._queues[node]
            machine = self.brokers.get(node) or self.clients[node]
            profile = self.profile if node in self.brokers else None
            if profile is not None:
                profile.enable()
            begun = time.process_time()
            timer = machine.timer()
            if timer is not None and timer <= self.now:
                machine.wake(self.now)
                self._perform(node)
            frames = [queue.popleft() for _ in range(min(SLICE, len(queue)))]
            for sender, group in itertools.groupby(frames, key=operator.itemgetter(0)):
                decoder = _REPLIES if isinstance(node, ClientId) else _MESSAGES
                if isinstance(sender, ClientId):
                    decoder = _REQUESTS
                machine.receive_many([decoder.decode(frame) for _, frame in group], sender, self.now)
                self._perform(node)
            if node in self.brokers:
                self.spent += time.process_time() - begun
            if profile is not None:
                profile.disable()

    def _perform(self, node: Any) -> None:
        machine = self.brokers.get(node) or self.clients[node]
        for effect in machine.effects():
            match effect:
                case Send(receiver, message):
                    frame = _encode(message)
                    if node in self.brokers:
                        self.messages += 1
                        self.octets += len(frame)
                    self._queues[receiver].append((node, frame))
                case Write(token, entries, done) if node in self._logs:
                    log = self._logs[node]
                    log.append([log.group(entries, done)], sync=token is not None)
                    machine.completed(effect, None, self.now)
                    self._perform(node)
                case Compute(task):
                    machine.completed(effect, task(), self.now)
                    self._perform(node)
                case Emit(Delivered() as delivered):
                    self.seen[node] = self.seen.get(node, 0) + len(delivered.events)
                    machine.acknowledge(delivered.number, delivered.key)
                case Emit(InForce()):
                    self.in_force.add(node)
                case Close(_, reason):
                    raise AssertionError(reason)
        if isinstance(node, ClientId) and machine.effects and (rest := machine.effects()):
            for effect in rest:
                self._queues[effect.receiver].append((node, _encode(effect.message)))


def grown(size: int, *, disks: Path | None = None) -> tuple[Network, ClientId]:
    """Return a network whose first broker had seen events when the others joined, and its publisher."""
    network = Network(disks=disks)
    network.join()
    publisher = network.attach(1)
    if disks is not None:
        network.join()  # a broker on its own has no second disk, and takes no event
    network.publish(publisher, range(WARM))
    while len(network.brokers) < size:
        network.join()
    return network, publisher


def measure(size: int, events: int, profile: cProfile.Profile | None) -> float:
    """Measure a network of so many brokers; return CPU microseconds an event."""
    network, publisher = grown(size)
    subscribers = [network.attach(1 + number % size) for number in range(SUBSCRIBERS)]
    for client in subscribers:
        network.clients[client].subscribe({name: (where, ()) for name, where in conditions().items()})
        network._perform(client)
    placing = network.spent
    while len(network.in_force) < SUBSCRIBERS:
        network.turn(TURN)
    placing = network.spent - placing
    network.publish(publisher, range(WARM))  # conditions are compiled at the first event
    for _ in range(50):
        network.turn(TURN)
    network.seen.clear()
    before, messages, octets = network.spent, network.messages, network.octets
    gc.collect()
    gc.freeze()
    network.profile = profile
    network.publish(publisher, range(WARM, WARM + events))
    for _ in range(50):
        network.turn(TURN)
    cpu = (network.spent - before) * 1e6 / events
    missing = SUBSCRIBERS * events - sum(network.seen.values())
    print(
        f"{size:>7} {cpu:>12.1f} {(network.messages - messages) / events:>16.3f} "
        f"{(network.octets - octets) / events:>14.0f} {missing:>8} {placing * 1e6 / 12_000:>22.0f}",
        flush=True,
    )
    return cpu


def bulk(size: int, count: int, profile: cProfile.Profile | None) -> None:
    """Say what it costs to open so many subscriptions of one client."""
    network, _ = grown(size)
    client = network.attach(size)
    network.clients[client].subscribe({name: (where, ()) for name, where in bulk_conditions(count).items()})
    before, messages, octets = network.spent, network.messages, network.octets
    network.profile = profile
    begun = time.process_time()
    network._perform(client)
    while client not in network.in_force:
        network.turn(TURN)
    if profile is not None:
        profile.disable()
    each, opened, placed = 1e6 / count, network.spent - before, time.process_time() - begun
    messages, octets = network.messages - messages, network.octets - octets
    before = network.spent
    for _ in range(network.configuration.refresh // (100 * TURN)):
        network.turn(100 * TURN)
    print(
        f"{count:,} subscriptions over {size} brokers: CPU µs each: {opened * each:.1f} of brokers, "
        f"{placed * each:.1f} in all; {messages / count:.2f} messages, {octets / count:.0f} bytes each; in each "
        f"{network.configuration.refresh // 1_000_000} s after that {(network.spent - before) * each:.1f} of brokers, "
        f"heartbeats and renewal; {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10:,} MiB at most",
        flush=True,
    )


def main(arguments: list[str]) -> int:
    """Run every size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks brokers_machines")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--events", type=int, default=40_960)
    parser.add_argument("--bulk", type=int, default=0, help="open so many subscriptions instead")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args(arguments)
    found: dict[int, float] = {}
    if not options.bulk:
        print("brokers  µs an event  messages each   bytes each  missing  µs a subscription placed")
    for size in options.sizes:
        profile = cProfile.Profile(time.process_time) if options.profile else None
        if options.bulk:
            bulk(size, options.bulk, profile)
        else:
            found[size] = measure(size, options.events, profile)
        if profile is not None:
            pstats.Stats(profile).sort_stats("tottime").print_stats(45)
    if len(found) > 1:
        first = min(found)
        print(", ".join(f"{size} brokers {cpu / found[first]:.2f} x {first}" for size, cpu in found.items()))
    return 0
