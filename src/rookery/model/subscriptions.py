"""One subscription: its columns, and the check of what a caller gives for them.

Rule 1: a subscription is an id, a version, a topic, a condition, parameters, a subscriber and effective dates; these
are its columns everywhere, in memory, in files and on Spark.
Rule 2: what is wrong with one is a `SubscriptionError` that names it; nothing is altered or dropped in silence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
import numpy as np
import pyarrow as pa

from rookery.errors import SubscriptionError
from rookery.model.events import plain_value
from rookery.model.instants import microseconds_of
from rookery.model.parameters import parameter_value, parameter_values

__all__ = ["INSTANT", "Record", "check_dates", "make_record", "record_schema"]

#: The type of effective dates.
INSTANT = pa.timestamp("us", tz="UTC")


def record_schema(id_type: pa.DataType) -> pa.Schema:
    """Return the columns of a subscription; `where` is null for one that was given as a box."""
    return pa.schema(
        [
            ("subscription_id", id_type),
            ("topic", pa.string()),
            ("where", pa.string()),
            ("parameters", pa.list_(pa.string())),
            ("subscriber", pa.string()),
            ("version", pa.int64()),
            ("valid_from", INSTANT),
            ("valid_to", INSTANT),
        ]
    )


class Record(msgspec.Struct, frozen=True):
    """One version of a subscription; times are microseconds since the epoch."""

    subscription_id: str | int
    where: str | None = ""
    topic: str | None = None
    parameters: tuple[str, ...] | None = None
    subscriber: str | None = None
    version: int = 1
    valid_from: int | None = None
    valid_to: int | None = None

    @property
    def dated(self) -> bool:
        return self.valid_from is not None or self.valid_to is not None


def make_record(
    subscription_id: object,
    where: object,
    *,
    topic: object = None,
    parameters: object = None,
    subscriber: object = None,
    version: object = 1,
    valid_from: object = None,
    valid_to: object = None,
) -> Record:
    """Check what a caller gives and return the record."""
    if isinstance(subscription_id, np.integer):
        subscription_id = int(subscription_id)
    if isinstance(subscription_id, bool) or not isinstance(subscription_id, str | int):
        raise SubscriptionError(f"a subscription_id is a string or an integer, got {subscription_id!r}")
    if isinstance(subscription_id, int) and not -(1 << 63) <= subscription_id < 1 << 63:
        raise SubscriptionError("the subscription_id does not fit int64", subscription_id=subscription_id)

    def wrong(message: str, hint: str | None = None) -> SubscriptionError:
        return SubscriptionError(message, subscription_id=subscription_id, hint=hint)

    if isinstance(parameters, Mapping | list | tuple) and isinstance(where, str):
        try:
            parameters = parameter_values(where, parameters)
        except SubscriptionError as error:
            error.subscription_id = subscription_id
            raise
    for text in (subscription_id, topic, subscriber):
        if isinstance(text, str) and not _is_unicode(text):
            raise SubscriptionError(f"{text!r} holds half a surrogate pair, which is no Unicode text")
    if where is not None and not isinstance(where, str):
        raise wrong(f"the filter is a text, got {where!r}")
    for name, text in (("topic", topic), ("subscriber", subscriber)):
        if text is not None and not isinstance(text, str):
            raise wrong(f"the {name} is a text, got {text!r}")
    version = 1 if version is None else version
    if isinstance(version, np.integer):
        version = int(version)
    if isinstance(version, bool) or not isinstance(version, int) or not -(1 << 63) <= version < 1 << 63:
        raise wrong(f"the version is an integer, got {version!r}")
    if parameters is not None:
        if isinstance(parameters, str) or not isinstance(parameters, Iterable):
            raise wrong(
                f"parameters are a list of values, or a mapping by name, got {parameters!r}",
                "for example parameters=['10', 'ACME'] or parameters={'limit': 10}",
            )
        parameters = tuple(None if plain_value(one) is None else parameter_value(one) for one in parameters)
        for text in parameters:
            if text is not None and not _is_unicode(text):
                raise SubscriptionError(f"{text!r} holds half a surrogate pair, which is no Unicode text")
    try:
        begin = None if valid_from is None else microseconds_of(valid_from)
        end = None if valid_to is None else microseconds_of(valid_to)
    except (TypeError, ValueError) as error:
        raise wrong(f"an effective date is wrong: {error}") from None
    check_dates(subscription_id, begin, end)
    return Record(subscription_id, where, topic, parameters, subscriber, version, begin, end)  # type: ignore[arg-type]


def check_dates(subscription_id: object, valid_from: int | None, valid_to: int | None) -> None:
    """Refuse effective dates that no event time can satisfy."""
    if valid_from is not None and valid_to is not None and valid_to <= valid_from:
        raise SubscriptionError(
            "valid_to is not after valid_from",
            subscription_id=subscription_id,
            hint="valid_to is the first instant at which it no longer holds",
        )


def _is_unicode(text: str) -> bool:
    """Say whether a text can be stored: lone surrogates have no UTF-8 form."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
