"""A real Cyclone DDS participant in a process of its own, driven by JSON lines: one command in, one answer out."""

# No `from __future__ import annotations` here: Cyclone's IDL reads the annotations as types.
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from typing import Optional

CONFIGURATION = (
    '<CycloneDDS><Domain Id="any"><General><Interfaces><NetworkInterface name="{interface}"/></Interfaces>'
    "<AllowMulticast>{multicast}</AllowMulticast></General>"
    "<Discovery><LeaseDuration>{lease}</LeaseDuration>{peers}</Discovery></Domain></CycloneDDS>"
)
#: Who is named and not heard of by multicast: as people configure it where there is none.
PEERS = '<ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="{}"/></Peers>'
os.environ["CYCLONEDDS_URI"] = CONFIGURATION.format(
    lease=os.environ.get("PEER_LEASE", "10 s"),
    interface=os.environ.get("PEER_INTERFACE", "lo"),
    multicast="false" if "PEER_PEERS" in os.environ else "default",
    peers=PEERS.format(os.environ["PEER_PEERS"]) if "PEER_PEERS" in os.environ else "",
)

from cyclonedds.builtin import (  # noqa: E402
    BuiltinDataReader,
    BuiltinTopicDcpsParticipant,
    BuiltinTopicDcpsPublication,
    BuiltinTopicDcpsSubscription,
)
from cyclonedds.core import Policy, Qos  # noqa: E402
from cyclonedds.domain import DomainParticipant  # noqa: E402
from cyclonedds.idl import IdlEnum, IdlStruct, IdlUnion  # noqa: E402
from cyclonedds.idl.annotations import appendable, key, mutable  # noqa: E402
from cyclonedds.idl.types import array, case, float32, int16, int32, int64, sequence, uint8, uint32  # noqa: E402
from cyclonedds.pub import DataWriter, Publisher  # noqa: E402
from cyclonedds.sub import DataReader, Subscriber  # noqa: E402
from cyclonedds.topic import Topic  # noqa: E402
from cyclonedds.util import duration  # noqa: E402


@dataclass
class Message(IdlStruct, typename="test::Message"):
    number: int32
    text: str


@dataclass
class Quote(IdlStruct, typename="test::Quote"):
    symbol: str
    key("symbol")
    price: float
    size: int64


@dataclass
class Match(IdlStruct, typename="test::Match"):
    event_id: int64
    subscription_id: str
    version: int64
    batch_id: int64


class Color(IdlEnum, typename="test::Color"):
    RED = 0
    GREEN = 1
    BLUE = 2


@dataclass
class Point(IdlStruct, typename="test::Point"):
    x: int16
    y: float


@dataclass
class Mixed(IdlStruct, typename="test::Mixed"):
    flag: bool
    small: uint8
    count: uint32
    ratio: float32
    color: Color
    points: sequence[Point]
    words: sequence[str]
    matrix: array[int64, 3]
    octets: sequence[uint8]
    last: Point


@dataclass
@appendable
class Reading(IdlStruct, typename="test::Reading"):
    sensor: str
    key("sensor")
    value: float
    note: Optional[str]  # noqa: UP045 - Cyclone reads this form
    color: Color


@dataclass
@mutable
class Setting(IdlStruct, typename="test::Setting"):
    name: str
    key("name")
    level: int64
    limit: Optional[float]  # noqa: UP045


class Either(IdlUnion, discriminator=int32, typename="test::Either"):
    number: case[0, int64]
    text: case[1, str]


@dataclass
class Choice(IdlStruct, typename="test::Choice"):
    what: Either


STATES = {16: "alive", 32: "disposed", 64: "no_writers"}
TYPES = {
    "Message": Message,
    "Quote": Quote,
    "Mixed": Mixed,
    "Match": Match,
    "Reading": Reading,
    "Setting": Setting,
    "Choice": Choice,
}


def as_json(value):
    if isinstance(value, IdlEnum):
        return value.name
    if isinstance(value, dict):
        return {name: as_json(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    return value


def build(kind, fields):
    if kind is Mixed:
        points = [Point(**point) for point in fields["points"]]
        changed = {"color": Color[fields["color"]], "points": points, "last": Point(**fields["last"])}
        return Mixed(**{**fields, **changed})
    if kind is Reading:
        return Reading(**{**fields, "color": Color[fields["color"]]})
    return kind(**fields)


def quality(command):
    reliable = Policy.Reliability.Reliable(duration(seconds=command.get("blocking", 1)))
    policies = [reliable if command.get("reliable", True) else Policy.Reliability.BestEffort]
    depth = command.get("depth")
    policies.append(Policy.History.KeepAll if depth is None else Policy.History.KeepLast(depth))
    policies.append(Policy.Durability.TransientLocal if command.get("transient_local") else Policy.Durability.Volatile)
    # What a late reader gets is a policy of its own in Cyclone DDS, and by default the last sample alone.
    everything = Policy.DurabilityService(duration(seconds=0), Policy.History.KeepAll, -1, -1, -1)
    # Otherwise unregistering an instance disposes of it too.
    policies += [everything, Policy.WriterDataLifecycle(autodispose=False)]
    if "deadline" in command:
        policies.append(Policy.Deadline(duration(seconds=command["deadline"])))
    if "liveliness" in command:
        kind = {"automatic": "Automatic", "participant": "ManualByParticipant", "topic": "ManualByTopic"}
        made = getattr(Policy.Liveliness, kind[command["liveliness"]])
        policies.append(made(duration(milliseconds=command["lease"])))
    if "lifespan" in command:
        policies.append(Policy.Lifespan(duration(seconds=command["lifespan"])))
    if "strength" in command:  # of a writer; a reader says None
        policies.append(Policy.Ownership.Exclusive)
        if command["strength"] is not None:
            policies.append(Policy.OwnershipStrength(command["strength"]))
    if command.get("coercion") is False:
        policies.append(Policy.TypeConsistency.DisallowTypeCoercion(False))
    if command.get("by_source_time"):
        policies.append(Policy.DestinationOrder.BySourceTimestamp)
    if "user_data" in command:
        policies.append(Policy.Userdata(command["user_data"].encode()))
    return Qos(*policies)


def group(participant, command):
    """Return where an endpoint is made: partitions belong to its publisher or subscriber."""
    if "partitions" not in command:
        return participant
    make = Publisher if command["do"] == "writer" else Subscriber
    return make(participant, qos=Qos(Policy.Partition(command["partitions"])))


def spoken(sample):
    """Return the policies of an endpoint that was discovered, as far as tests ask for them."""
    qos = getattr(sample, "qos", None) or ()
    words = {}
    for policy in qos:
        if policy.__scope__ == "Userdata":
            words["user_data"] = policy.data.decode()
        elif policy.__scope__ == "Lifespan":
            words["lifespan"] = policy.lifespan / 1e9
        elif policy.__scope__ == "Deadline":
            words["deadline"] = policy.deadline / 1e9
        elif policy.__scope__ == "Partition":
            words["partitions"] = list(policy.partitions)
    return words


def until(condition, timeout):
    end = time.monotonic() + timeout
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(condition())


def answer(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def main():
    # As ROS 2 says of each participant where it belongs.
    participant = DomainParticipant(int(sys.argv[1]), qos=Qos(Policy.Userdata(b"enclave=/;")))
    entities, kinds, taken, keep = [], [], {}, [participant]
    builtin = {
        "participants": BuiltinDataReader(participant, BuiltinTopicDcpsParticipant),
        "publications": BuiltinDataReader(participant, BuiltinTopicDcpsPublication),
        "subscriptions": BuiltinDataReader(participant, BuiltinTopicDcpsSubscription),
    }

    def run(command):
        do, timeout = command["do"], command.get("timeout", 600)  # it ends a hang and decides nothing
        if do in ("writer", "reader"):
            kind = TYPES[command["type"]]
            topic = Topic(participant, command["topic"], kind)
            make = DataWriter if do == "writer" else DataReader
            within = group(participant, command)
            keep.append(within)
            entities.append(make(within, topic, qos=quality(command)))
            kinds.append(kind)
            keep.append(topic)
            taken[len(entities) - 1] = []
            return len(entities) - 1
        if do == "delete":
            entity = entities[command["entity"]]
            entities[command["entity"]] = None
            del entity
            return True
        if do == "wait_matched":
            entity = entities[command["entity"]]
            writes = isinstance(entity, DataWriter)
            matched = entity.get_matched_subscriptions if writes else entity.get_matched_publications

            def is_complete():
                try:
                    return len(matched()) == command.get("count", 1)
                except IndexError:  # cyclonedds 11.0.1 counts, then lists: one more came in between
                    return False

            return until(is_complete, timeout)
        if do == "write":
            for fields in command["samples"]:
                entities[command["entity"]].write(build(kinds[command["entity"]], fields))
                time.sleep(command.get("pause", 0))
            return len(command["samples"])
        if do == "alive":
            status = entities[command["entity"]].get_liveliness_changed_status()
            return [status.alive_count, status.not_alive_count]
        if do in ("dispose", "unregister"):
            writer, kind = entities[command["entity"]], kinds[command["entity"]]
            end = writer.dispose if do == "dispose" else writer.unregister_instance
            end(build(kind, command["sample"]))
            return True
        if do == "take":
            reader, got = entities[command["entity"]], taken[command["entity"]]

            def enough():
                for sample in reader.take(N=1_000):
                    state = STATES[sample.sample_info.instance_state]
                    valid = sample.sample_info.valid_data
                    got.append([as_json(asdict(sample)) if valid else None, state])
                return len(got) >= command["count"]

            until(enough, timeout)
            result, got[:] = list(got), []
            return result
        if do == "builtin":
            found = {}
            for name, reader in builtin.items():
                found[name] = [
                    {
                        "key": str(sample.key),
                        "alive": STATES[sample.sample_info.instance_state] == "alive",
                        "topic": getattr(sample, "topic_name", None),
                        "type": getattr(sample, "type_name", None),
                        "qos": spoken(sample),
                    }
                    for sample in reader.read(N=10_000)
                ]
            return found
        raise ValueError(do)

    answer("ready")
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "leave":
            break
        answer(run(command))


if __name__ == "__main__":
    main()
