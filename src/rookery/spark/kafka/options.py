"""The options of `rookery.kafka`: those of Spark's own connector by their names, and the client's behind `kafka.`.

Rule: nothing is dropped. What begins with `kafka.` reaches the client as it is, so that security is configured here as
anywhere else (`kafka.security.protocol`, `kafka.sasl.username`, `kafka.ssl.ca.location` …); what nobody knows is
refused, with the nearest name, on the driver and before any job. The client is librdkafka: settings that only Java's
has are refused with what to write instead.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rookery.errors import PipelineError

__all__ = ["EARLIEST", "LATEST", "Position", "ReadOptions", "WriteOptions", "client_settings", "connect"]

#: Offsets that stand for a place, as Spark writes them.
LATEST, EARLIEST = -1, -2

READ = ("subscribe", "subscribePattern", "assign", "startingOffsets", "endingOffsets", "startingTimestamp",
        "endingTimestamp", "maxOffsetsPerTrigger", "includeHeaders", "failOnDataLoss")  # fmt: skip
WRITE = ("topic", "delivery", "query", "checkpointLocation", "path")

#: What only the Java client has, and what to write instead.
JAVA = {
    "sasl.jaas.config": "kafka.sasl.username and kafka.sasl.password",
    "ssl.truststore.location": "kafka.ssl.ca.location, a file of PEM certificates",
    "ssl.truststore.password": "kafka.ssl.ca.location, a file of PEM certificates",
}
#: What the source and the sink decide themselves.
OURS = ("group.id", "enable.auto.commit", "auto.offset.reset", "enable.auto.offset.store", "transactional.id")


@dataclass(frozen=True, slots=True)
class Position:
    """Where to begin or to end: a place, a time in milliseconds, or an offset for each partition."""

    place: int = EARLIEST
    time: int | None = None
    offsets: Mapping[str, Mapping[str, int]] | None = None


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to read: topics by name, by pattern or by partition; from where, how much at a time, with headers or not."""

    client: Mapping[str, str]
    topics: tuple[str, ...]
    pattern: str | None
    assigned: Mapping[str, tuple[int, ...]] | None
    starting: Position
    ending: Position
    limit: int | None
    headers: bool
    fails_on_data_loss: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> ReadOptions:
        """Read the options of a source."""
        client = client_settings(options, READ)
        named = {name: options[name] for name in ("subscribe", "subscribePattern", "assign") if name in options}
        if len(named) != 1:
            raise PipelineError(
                "rookery.kafka needs one of the options 'subscribe' (topic,topic), 'subscribePattern' (a regular "
                f"expression) and 'assign' ({{\"topic\": [0, 1]}}); it has {', '.join(named) or 'none'}"
            )
        topics = tuple(name.strip() for name in options.get("subscribe", "").split(",") if name.strip())
        limit = options.get("maxOffsetsPerTrigger")
        return cls(
            client,
            topics,
            _pattern(options.get("subscribePattern")),
            _assigned(options.get("assign")),
            _position(options, "starting", EARLIEST),
            _position(options, "ending", LATEST),
            None if limit is None else _count("maxOffsetsPerTrigger", limit),
            _flag(options, "includeHeaders", default=False),
            _flag(options, "failOnDataLoss", default=True),
        )


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Where to write, and how often a message may come: `query` tells one exactly-once sink from another."""

    client: Mapping[str, str]
    topic: str | None
    query: str | None

    @classmethod
    def of(cls, options: Mapping[str, str]) -> WriteOptions:
        """Read the options of a sink."""
        client = client_settings(options, WRITE)
        delivery = options.get("delivery", "exactly-once")
        if delivery not in ("exactly-once", "at-least-once"):
            raise PipelineError(f"delivery is 'exactly-once' or 'at-least-once', not {delivery!r}")
        query, place = options.get("query"), options.get("checkpointLocation")
        if query is None and place is not None:  # one checkpoint is one query, however its folder is written
            query = place if "://" in place else os.path.abspath(place)
        if delivery == "exactly-once" and query is None:
            raise PipelineError("rookery.kafka needs the option 'checkpointLocation', or 'query', a name of the stream")
        return cls(client, options.get("topic"), query if delivery == "exactly-once" else None)


def client_settings(options: Mapping[str, str], known: tuple[str, ...]) -> dict[str, str]:
    """Return the client's own settings; refuse what is neither one of them nor an option."""
    lower = {name.lower() for name in known}
    found: dict[str, str] = {}
    for name, value in options.items():
        if name.lower().startswith("kafka."):
            setting = name[6:].lower()
            if setting in JAVA:
                raise PipelineError(f"{name} is a setting of the Java client: write {JAVA[setting]}")
            if setting in OURS:
                raise PipelineError(f"{name} is set by rookery.kafka itself: leave it out")
            found[setting] = value
        elif name.lower() not in lower:
            near = difflib.get_close_matches(name.lower(), sorted(lower), n=1)
            spelled = next((one for one in known if near and one.lower() == near[0]), None)
            hint = f"did you mean {spelled!r}?" if spelled else f"it has {', '.join(known)} and kafka.…"
            raise PipelineError(f"rookery.kafka has no option {name!r} here; {hint}")
    if "bootstrap.servers" not in found:
        raise PipelineError("rookery.kafka needs the option 'kafka.bootstrap.servers'")
    return found


def connect(kind: Any, client: Mapping[str, str], **own: Any) -> Any:
    """Make a client of librdkafka; a setting that it does not know, or cannot take, is named."""
    from confluent_kafka import KafkaException

    try:
        return kind({**client, "log_level": 0, **{name.replace("_", "."): value for name, value in own.items()}})
    except KafkaException as error:
        raise PipelineError(f"the Kafka client refuses its settings: {error.args[0].str()}") from error


def _pattern(text: str | None) -> str | None:
    if text is not None:
        try:
            re.compile(text)
        except re.error as error:
            raise PipelineError(f"subscribePattern: {error}") from None
    return text


def _assigned(text: str | None) -> dict[str, tuple[int, ...]] | None:
    if text is None:
        return None
    try:
        return {topic: tuple(int(one) for one in partitions) for topic, partitions in json.loads(text).items()}
    except (ValueError, AttributeError, TypeError):
        raise PipelineError(f'assign is JSON of topics and partitions, {{"topic": [0, 1]}}, not {text!r}') from None


def _position(options: Mapping[str, str], end: str, default: int) -> Position:
    text, time = options.get(f"{end}Offsets"), options.get(f"{end}Timestamp")
    if time is not None:
        if text is not None:
            raise PipelineError(f"{end}Offsets and {end}Timestamp say two things: give one")
        return Position(time=_count(f"{end}Timestamp", time))
    if text in (None, "earliest", "latest"):
        return Position({"earliest": EARLIEST, "latest": LATEST}.get(str(text), default))
    try:
        given = {
            topic: {str(int(number)): int(offset) for number, offset in partitions.items()}
            for topic, partitions in json.loads(str(text)).items()
        }
    except (ValueError, AttributeError, TypeError):
        raise PipelineError(
            f'{end}Offsets is \'earliest\', \'latest\' or JSON, {{"topic": {{"0": 23, "1": -2}}}}, not {text!r}'
        ) from None
    return Position(default, offsets=given)


def _count(name: str, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0 or (number == 0 and name.startswith("max")):
        raise PipelineError(f"{name} is a whole number, not {text!r}")
    return number


def _flag(options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, str(default)).lower()
    if text not in ("true", "false"):
        raise PipelineError(f"{name} is true or false, not {text!r}")
    return text == "true"
