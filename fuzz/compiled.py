"""A structured fuzzer for the loader of compiled sets: nearly right sets under a right hash.

    python fuzz/compiled.py --mutants 1000000 --seed 1     mutate, load, use, compare; report rate and verdicts
    python fuzz/compiled.py --one 4711                     one mutant in this process, to look at it

A mutant is a sound set with a number, an array, a header entry or a record changed (`compiled_mutants.py`) and its
hash made anew. Loading refuses it with `CompiledSetError`, or it is a set of its own: then every answer (of a batch, a
row, a part of a part, a matcher that goes on from it, what that compiles) is what a plain scan of its own rows says,
and its boxes hold what matched. A fifth are loaded with `verify=False`: they may answer anything, and nothing else may
happen. Processes of their own do the work, some thousand mutants each, so that a crash names its mutant. Everything
follows from the seed.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import resource
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from compiled_mutants import EVENTS, ROWS, Parts, bases, mutant

import rookery
from rookery.errors import CompiledSetError, RookeryError
from rookery.matching import CompiledSet
from rookery.matching.buffers import content_hash_of, pack
from rookery.matching.codes import TIME, TOPIC
from rookery.matching.kernels import ATTRIBUTE_MASK, SET_FLAG
from rookery.matching.view import View
from rookery.model.batches import batch_of
from rookery.model.events import read_value
from rookery.space.axes import Axis, EventSpace

Array = np.ndarray[Any, Any]

#: The types that a buffer may hold.
KINDS = ("<i8", "<i4", "<u2", "<u8", "|u1")
#: Mutants that one process tries.
BATCH = 5_000
#: What a process may grow by while it does: a set that claims to be large must not be given the memory.
MOST_BYTES = 400 << 20
SEEN: dict[str, Array] = {}


def loaded(parts: Parts, verify: bool | str, *, packed: bool = True) -> CompiledSet:
    """Load a mutant under a hash made anew, from a buffer or (which is much faster) from the arrays in it."""
    header, arrays = parts
    if "pad" in arrays or any(array.dtype.str not in KINDS for array in arrays.values()):
        raise CompiledSetError("no such set can be written")
    if packed:
        return CompiledSet.from_bytes(pack({**header, "hash": content_hash_of(header, arrays)}, arrays), verify=verify)
    frozen = {}
    for name, array in arrays.items():
        frozen[name] = np.ascontiguousarray(array).view()
        frozen[name].flags.writeable = False  # as those of a buffer are
    return CompiledSet.from_parts(header, frozen, verify=verify)


def codes_of(compiled: CompiledSet) -> Array:
    """Return the events in the set's codes; those of a space that was seen before are remembered."""
    view = compiled._view
    space = view.space
    labels = [(number, one.texts, one.values, one.ordered) for number, one in space.labels.items()]
    key = repr((space.schema, space.attributes, labels, view.topics))
    if key not in SEEN:
        if len(SEEN) > 200:
            SEEN.clear()
        hidden = view._hidden_batch(batch_of(EVENTS), time="at", topic=None, as_of=None, on_error="raise")
        SEEN[key] = space.encode(EVENTS, hidden, missing="null")
    return SEEN[key]


def scan(compiled: CompiledSet, codes: Array) -> Array:
    """Return which slots each event satisfies [events, slots], by nothing but the set's own rows."""
    rows = compiled._view.engine.rows()
    held = np.zeros((len(codes), len(compiled)), np.bool_)
    if not len(rows):
        return held
    numbers = rows.attribute & ATTRIBUTE_MASK
    values = codes[:, numbers]
    tests = (values >= rows.bounds[:, 0]) & (values <= rows.bounds[:, 1])
    for place in np.flatnonzero(rows.attribute & SET_FLAG).tolist():
        intervals = rows.pool[rows.bounds[place, 0] : rows.bounds[place, 1]]
        code = values[:, place, None]
        tests[:, place] = ((code >= intervals[:, 0]) & (code <= intervals[:, 1])).any(axis=1)
    failed = np.concatenate([np.zeros((len(codes), 1), np.int64), np.cumsum(~tests, axis=1)], axis=1)
    whole = failed[:, rows.start[1:]] == failed[:, rows.start[:-1]]
    np.logical_or.at(held.T, rows.slot, whole.T)
    return held


def probed(compiled: CompiledSet, codes: Array) -> Array:
    """Return the same as the engine finds it."""
    view = compiled._view
    pairs = view.engine.probe(codes, view.alive)
    held = np.zeros((len(codes), len(compiled)), np.bool_)
    held[pairs >> 32, pairs & 0xFFFFFFFF] = True
    return held


def same(one: Array, other: Array, what: str) -> None:
    if not np.array_equal(one, other):
        raise AssertionError(f"{what}: {np.argwhere(one != other)[:5].tolist()} differ (event, slot)")


def use(compiled: CompiledSet, random: Random, trusted: bool) -> None:
    """Do with a set all that can be done; where it is trusted, compare each answer with the scan."""
    check: Callable[[Array, Array, str], None] = same if trusted else lambda one, other, what: None
    codes = codes_of(compiled)
    wanted = scan(compiled, codes)
    check(probed(compiled, codes), wanted, "the index")
    if random.random() < 0.3:
        taken(compiled, wanted, random, trusted, check)
    if random.random() < 0.2:
        boxed(compiled, wanted, trusted)
    if random.random() < 0.3:
        answers(compiled, wanted, random, check)
    if random.random() < 0.05:
        edited(compiled, answers(compiled, wanted, random, check), random, check)


def taken(compiled: CompiledSet, wanted: Array, random: Random, trusted: bool, check: Any) -> None:
    """Take a part, and of that all; what was made is as sound as what was given."""
    count = len(compiled)
    chosen = np.array(sorted(random.sample(range(count), random.randint(0, count))), np.int64)
    part = compiled.take(chosen)
    part = part.take(np.arange(len(part)))
    check(probed(part, codes_of(part)), wanted[:, chosen], "a part of a part")
    if random.random() < 0.2:
        again = CompiledSet.from_bytes(part.to_bytes(), verify=trusted)
        check(probed(again, codes_of(again)), wanted[:, chosen], "a part, saved and loaded")


def boxed(compiled: CompiledSet, wanted: Array, trusted: bool) -> None:
    """Ask for boxes: no bound is missing, and what matched lies inside."""
    axes = [Axis(name) for name in ("v", "n") if name in compiled.schema]
    if not axes:
        return
    space = EventSpace(compiled.schema, axes)
    boxes = compiled.boxes(space)
    lower, upper = boxes.lower, boxes.upper
    if not trusted:
        return
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise AssertionError("a box has no bound")
    if compiled.schema.to_dict().get("v") == "float64":
        places = space.points(EVENTS)[:, 0]
        outside = (places[:, None] < lower[:, 0]) | (places[:, None] > upper[:, 0])
        if (outside & wanted).any():
            raise AssertionError("a box leaves out what matched")


def judged(view: View, slot: int, event: dict[str, Any]) -> bool:
    """Return whether the condition of a slot is true of an event, by its text alone."""
    decide, attributes = view.condition(slot)
    return decide({one.path: read_value(event, one, "raise") for one in attributes}) is True


def answers(compiled: CompiledSet, wanted: Array, random: Random, check: Any) -> Array:
    """Compare batch and row, with what must be verified by its text; return the exact answer."""
    view = compiled._view
    exact = wanted.copy()
    for slot in view.inexact_slots():
        for event in np.flatnonzero(wanted[:, slot]).tolist():
            exact[event, slot] = judged(view, slot, ROWS[event])
    events, slots = compiled.match_indices(EVENTS, time="at", missing="null")
    found = np.zeros_like(exact)
    found[events, slots] = True
    check(found, exact, "a batch")
    event = random.randrange(len(ROWS))
    row = np.zeros(len(compiled), np.bool_)
    row[view.match_event(ROWS[event], topic=None, time=ROWS[event]["at"])] = True
    check(row[None], exact[event : event + 1], "a row")
    return exact


def edited(compiled: CompiledSet, exact: Array, random: Random, check: Any) -> None:
    """Go on editing from the set: what was there answers as before."""
    matcher = rookery.matcher(compiled)
    texts = [f"k = '{random.choice('abkz')}{number}' OR k > 'k{number}'" for number in range(random.choice((1, 40)))]
    fresh = 10**9 if compiled.subscriptions.schema.field("subscription_id").type == "int64" else "fresh"
    for place, text in enumerate(texts):
        matcher.add(fresh + place if isinstance(fresh, int) else f"{fresh}{place}", text)
    for state in (matcher, matcher.compile()):
        events, slots = state._view.match_batch(EVENTS, time="at", topic=None, as_of=None, missing="null")
        found = np.zeros((len(exact), len(compiled) + len(texts)), np.bool_)
        found[events, slots] = True
        check(found[:, : len(compiled)], exact, "an edited set")


def prove_text(parts: Parts) -> str:
    """Load with the texts compared; what is taken matches as the evaluator says."""
    try:
        compiled = loaded(parts, "texts")
    except CompiledSetError:
        return "other texts"
    view = compiled._view
    codes, rows = codes_of(compiled), view.engine.rows()
    topic, dated = view.space.known(TOPIC.path), view.space.known(TIME.path)
    numbers = rows.attribute & ATTRIBUTE_MASK
    places = np.flatnonzero(numbers == dated) if dated is not None else np.empty(0, np.int64)
    timed = set(rows.slot[np.searchsorted(rows.start, places, side="right") - 1].tolist())
    decides = set(rows.slot.tolist())  # a version that never decides has no row
    found = np.zeros((len(ROWS), len(compiled)), np.bool_)
    found[compiled.match_indices(EVENTS, time="at", missing="null")] = True
    for slot in range(len(compiled)):
        record = view.records[slot]
        if record.where is None:
            continue
        for event in range(slot % 3, len(ROWS), 3):
            said = judged(view, slot, ROWS[event])
            if record.topic is not None:
                said = said and codes[event, topic] == view.space.labels[topic][record.topic]
            # Its dates may keep a subscription from matching; nothing makes it match what its text does not say.
            if found[event, slot] > said or (said > found[event, slot] and slot in decides - timed):
                raise AssertionError(f"{record.where!r} says {said} of {ROWS[event]}")
    return "same texts"


def examine(seed: int, sets: list[Parts]) -> str:
    """Make one mutant and use it; return what became of it. Anything but a RookeryError is a fault."""
    random = Random(seed)
    parts = mutant(random, sets)
    trusted = random.random() < 0.8
    try:
        compiled = loaded(parts, trusted, packed=random.random() < 0.15)
    except CompiledSetError:
        return "refused"
    try:
        use(compiled, random, trusted)
        verdict = "right" if trusted else "unproved"
    except RookeryError:
        verdict = "refused in use"  # a text or an event that does not fit; it is an error, never an answer
    if trusted and random.random() < 0.015:
        try:
            return prove_text(parts)
        except RookeryError:
            return "refused in use"
    return verdict


def work(first: int, last: int, sets: list[Parts], progress: mmap.mmap) -> dict[str, int]:
    """Examine a range of mutants; `progress` says which one is under way."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    verdicts: Counter[str] = Counter()
    for seed in range(first, last):
        progress[:8] = struct.pack("<q", seed)
        verdicts[examine(seed, sets)] += 1
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    if grown > MOST_BYTES:
        raise AssertionError(f"the mutants {first} to {last} took {grown >> 20} MiB")
    return verdicts


def run(mutants: int, seed: int) -> Counter[str]:
    """Examine so many mutants in processes of their own; a fault or a crash is an AssertionError with its number."""
    sets = bases()
    for parts in sets:  # the kernels are compiled once, before the processes; a sound set is right in every use
        compiled = loaded(parts, "texts")
        codes = codes_of(compiled)
        wanted = scan(compiled, codes)
        same(probed(compiled, codes), wanted, "a sound set")
        taken(compiled, wanted, Random(0), True, same)
        boxed(compiled, wanted, True)
        edited(compiled, answers(compiled, wanted, Random(0), same), Random(0), same)
    verdicts: Counter[str] = Counter()
    progress = mmap.mmap(-1, 8)
    for first in range(seed, seed + mutants, BATCH):
        last = min(seed + mutants, first + BATCH)
        reader, writer = os.pipe()
        child = os.fork()
        if not child:
            code = 1
            try:
                os.write(writer, json.dumps(work(first, last, sets, progress)).encode())
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(writer)
        with os.fdopen(reader) as stream:
            found = stream.read()
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        at = struct.unpack("<q", progress[:8])[0]
        if status:
            raise AssertionError(f"mutant {at}: exit {status}; look at it with --one {at}")
        verdicts.update(json.loads(found))
    return verdicts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first mutant")
    parser.add_argument("--one", type=int, help="examine this mutant alone, in this process")
    arguments = parser.parse_args()
    if arguments.one is not None:
        print(examine(arguments.one, bases()))
        return
    began = time.monotonic()
    verdicts = run(arguments.mutants, arguments.seed)
    took = time.monotonic() - began
    sys.stderr.write(f"{arguments.mutants:,} mutants in {took:.0f} s, {arguments.mutants / took:,.0f} a second\n")
    print(json.dumps(verdicts))


if __name__ == "__main__":
    main()
