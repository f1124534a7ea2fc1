"""The bitmap engine: segments, each a packed index, and an unsorted tail for the newest rows.

Rule 1: adding a row sets its bits in the tail's last block (`tail.py`); nothing else is touched. A tail of TAIL_ROWS
becomes a segment, together with segments that are no longer than it is or LEAST_SEGMENT.
Rule 2: whatever else is to be merged is left to who has the time for it: `merge_due` says which segments, the merge is
made beside the engine, and `applied` puts it in the place of just those in whatever engine there is by then. Segments
are merged with all before them that are up to RATIO times as long: so there are few, and a row is packed a few times in
its life.
Rule 3: a removed row is not sought: its subscription is marked dead, and a dead one is never reported. A merge leaves
its rows out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rookery.arrays import distinct
from rookery.matching.bitmap.build import BitmapIndex, build_index
from rookery.matching.bitmap.build_kernels import restore_keys
from rookery.matching.bitmap.event_kernels import match_event
from rookery.matching.bitmap.kernels import match_events
from rookery.matching.bitmap.lanes import LaneChoice, match_by_lanes
from rookery.matching.bitmap.list_kernels import match_lists
from rookery.matching.bitmap.lists import restored
from rookery.matching.bitmap.position_kernels import write_positions
from rookery.matching.bitmap.tail import Tail
from rookery.matching.codes import CodeSpace
from rookery.matching.pieces import events_at_once
from rookery.matching.rows import Rows

__all__ = ["BitmapEngine", "SegmentMerge", "index_rows", "index_table"]

Array = np.ndarray[Any, Any]

#: Rows of the tail at the most, and of a segment that is merged at once when another comes behind it.
TAIL_ROWS = 512
LEAST_SEGMENT = 8192
#: Rows of a segment behind another up to which its bounds stay codes: few of a batch's events get as far as a bound,
#: and to find the positions of all of them would take longer than the rest.
SHORT_SEGMENT = 1 << 16
#: Slots that one event is given room for at first.
ROOM = 64
#: Pairs that a batch is given room for at least, and how many times as many as the one before had.
LEAST_PAIRS, SPARE = 1024, 1.25
_NO_SLOTS = np.empty(0, np.int64)
#: The part of a pair that is the slot.
_SLOT = (1 << 32) - 1
#: How many times as long as all behind it a segment may be and be merged with them.
RATIO = 8


class SegmentMerge:
    """Neighbouring segments that are to become one."""

    __slots__ = ("_before", "_behind", "_index")

    def __init__(self, segments: Sequence[BitmapIndex], *, behind: bool) -> None:
        self._before = tuple(segments)
        #: Whether others stand before them.
        self._behind = behind
        self._index: BitmapIndex | None = None

    def run(self, space: CodeSpace, alive: Array) -> None:
        """Make the one segment, without the rows of the dead; space and flags are those of the engine's state."""
        rows = Rows.concatenate([index_rows(one) for one in self._before])
        living = alive[rows.slot] != 0
        if not living.all():
            rows = rows.take(np.flatnonzero(living)).trimmed()
        parts = [rows]
        del rows
        self._index = _built(parts, space, behind=self._behind)

    def applied(self, engine: Any) -> BitmapEngine | None:
        """Return an engine with the one segment in place of the others, None if it does not have them any more."""
        assert self._index is not None
        if not isinstance(engine, BitmapEngine):
            return None
        segments = engine.segments
        for first in range(len(segments) - len(self._before) + 1):
            end = first + len(self._before)
            if all(one is other for one, other in zip(segments[first:end], self._before, strict=True)):
                return BitmapEngine(*segments[:first], self._index, *segments[end:], tail=engine.tail)
        return None


class BitmapEngine:
    """Rows in segments plus a tail. It never changes: more rows are another engine, which shares the segments."""

    __slots__ = ("_dense", "_keyed", "_lanes", "_listed", "_room", "segments", "tail")

    name = "bitmap"

    def __init__(self, *segments: BitmapIndex, tail: Tail | None = None) -> None:
        self.segments = segments or (build_index(Rows.empty(), 1),)
        self.tail = tail
        #: Where the arrays lie of each part that has rows, and the parts with lists; made at the first single event.
        self._keyed: list[tuple[Array, Array]] | None = None
        self._listed: list[BitmapIndex] = []
        #: The most slots that a single event had yet.
        self._room = ROOM
        #: The pairs that an event of a batch is given room for in the first part.
        self._dense = 0.0
        #: How the first part's next events are matched.
        self._lanes = LaneChoice()

    @property
    def index(self) -> BitmapIndex:
        """The first segment; of an engine that is packed, all of it."""
        return self.segments[0]

    @property
    def is_packed(self) -> bool:
        """Whether all rows are in one segment."""
        return len(self.segments) == 1 and self.tail is None

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self.segments) + (0 if self.tail is None else self.tail.nbytes)

    def extended(self, rows: Rows, space: CodeSpace) -> BitmapEngine:
        """Return an engine with more rows, which are in the codes of a space."""
        waiting = Rows.empty() if self.tail is None else self.tail.rows()
        if len(waiting) + len(rows) <= TAIL_ROWS:
            tail = Tail.behind(self.segments[-1]) if self.tail is None else self.tail
            return self._followed_by(*self.segments, tail=tail.extended(rows, len(space)))
        segments = list(self.segments)
        most, parts = max(len(rows), LEAST_SEGMENT), [waiting, rows]
        del waiting, rows
        while segments and segments[-1].row_count <= most:
            parts.insert(0, index_rows(segments.pop()))
        segments.append(_built(parts, space, behind=bool(segments)))
        return self._followed_by(*segments)

    def _followed_by(self, *segments: BitmapIndex, tail: Tail | None = None) -> BitmapEngine:
        """Return the next engine, which knows how much room answers took up to now."""
        engine = BitmapEngine(*segments, tail=tail)
        engine._dense, engine._room = self._dense, self._room
        return engine

    def merge_due(self) -> SegmentMerge | None:
        """Return the merge that would make the engine faster, None if it is well as it is."""
        first, behind = len(self.segments) - 1, 0
        for place in range(len(self.segments) - 1, -1, -1):
            rows = self.segments[place].row_count
            if rows <= RATIO * behind:
                first = place
            behind += rows
        return None if first == len(self.segments) - 1 else SegmentMerge(self.segments[first:], behind=first > 0)

    def packed(self, rows: Rows, space: CodeSpace) -> BitmapEngine:
        """Return an engine with exactly these rows."""
        parts = [rows]
        del rows
        return BitmapEngine(_built(parts, space, behind=False))

    def rows(self) -> Rows:
        """Return every row, the dead ones too."""
        newest = [] if self.tail is None else [self.tail.rows()]
        return Rows.concatenate([*(index_rows(one) for one in self.segments), *newest])

    def probe(self, codes: Array, alive: Array) -> Array:
        """Return the pairs `event << 32 | slot`; a pair may repeat where a subscription has several rows."""
        found: list[Array] = []
        size = events_at_once(codes.shape[1])
        for first in range(0, len(codes), size):
            chunk = codes[first : first + size]
            for part in self.segments:
                positions = _positions(part, chunk)
                matched = [self._matched(part, chunk, positions, alive)] if part.listed_from else []
                if len(part.list_posting):
                    matched.append(_match_lists(part, chunk, positions, alive))
                found += [pairs + (first << 32) for pairs in matched] if first else matched
            if self.tail is not None:
                pairs = _match_tail(self.tail, chunk, alive)
                found.append(pairs + (first << 32) if first else pairs)
        found = [pairs for pairs in found if len(pairs)]
        if len(found) == 1:
            return found[0]
        return np.concatenate(found) if found else np.empty(0, np.int64)

    def _matched(self, part: BitmapIndex, codes: Array, positions: Array, alive: Array) -> Array:
        """Return the pairs of some events in a part; in the first, with room for as many as those before had."""
        checked = np.zeros(1, np.int64)
        if part is not self.segments[0]:
            return _match(part, codes, positions, alive, np.empty(LEAST_PAIRS, np.int64), checked)
        room = np.empty(LEAST_PAIRS + int(self._dense * len(codes)), np.int64)
        if self._lanes.scans(part, len(codes), len(alive)):
            pairs = match_by_lanes(part, codes, positions, alive, room)
        else:
            pairs = _match(part, codes, positions, alive, room, checked)
            self._lanes.note(int(checked[0]), len(codes))
        self._dense = SPARE * len(pairs) / max(1, len(codes))  # others set it too
        return pairs

    def probe_event(self, codes: Array, alive: Array) -> list[int]:
        """Return the live slots that the one event of `codes` has, in order, each once."""
        if self._keyed is None:
            parts = self.segments if self.tail is None else (*self.segments, self.tail.index)
            self._listed = [part for part in parts if len(part.list_posting)]
            self._keyed = [(index_table(part), part.bounds) for part in parts if part.listed_from]
        found = [self._found(table, bounds, codes, alive) for table, bounds in self._keyed]
        found += [_match_lists(part, codes, _positions(part, codes), alive) for part in self._listed]
        slots = found[0] if len(found) == 1 else np.concatenate(found) if found else _NO_SLOTS
        if len(slots) > ROOM:
            many: list[int] = distinct(slots).tolist()
            return many
        few: list[int] = slots.tolist()
        return sorted(set(few)) if len(few) > 1 else few

    def _found(self, table: Array, bounds: Array, codes: Array, alive: Array) -> Array:
        """Return the slots of one event in a part, in no order."""
        found = np.empty(self._room, np.int64)
        count = match_event(codes, alive, table, bounds, found)
        if count > len(found):
            self._room = room = 2 * count  # others set it too
            found = np.empty(room, np.int64)
            match_event(codes, alive, table, bounds, found)
        return found[:count]


def _built(parts: list[Rows], space: CodeSpace, *, behind: bool) -> BitmapIndex:
    """Return a segment of some rows, which stands behind others or is the first; the list is emptied.

    Nobody here keeps the rows: building the index needs the memory that they take.
    """
    short = behind and sum(map(len, parts)) <= SHORT_SEGMENT
    return build_index(_put_together(parts), len(space), space.labels, positions=not short)


def _put_together(parts: list[Rows]) -> Rows:
    """Return the rows of some parts, and empty the list."""
    whole = Rows.concatenate(parts)
    parts.clear()
    return whole


def _positions(index: BitmapIndex, codes: Array) -> Array:
    """Return the codes of events as the rows of an index have their bounds."""
    i = index
    if i.bounds.dtype == np.int64:
        return codes
    positions = np.empty(codes.shape, np.int32)
    write_positions(codes, i.position_numbers, i.position_grid, i.position_first, i.position_points, positions)
    return positions


def _match(index: BitmapIndex, codes: Array, positions: Array, alive: Array, room: Array, checked: Array) -> Array:
    i = index
    pairs: Array = match_events(
        codes, positions, alive, i.cuts, i.signature_first, i.signature_numbers, i.key_low, i.key_span, i.table_first,
        i.table, i.seed, i.partition_key, i.partition_first, i.blocked_rows, i.partition_group, i.block_first,
        i.block_numbers, i.lines, i.group_partition, i.group_block, i.group_first, i.group_numbers, i.group_lines,
        i.slot, i.start, i.attribute, i.bounds, i.pool, room, checked,
    )  # fmt: skip
    return pairs


def _match_tail(tail: Tail, codes: Array, alive: Array) -> Array:
    """Return the pairs of some events in the tail; its bounds are codes."""
    wanted, room, checked = tail.wanted(codes), np.empty(LEAST_PAIRS, np.int64), np.zeros(1, np.int64)
    if wanted is None:
        return _match(tail.index, codes, codes, alive, room, checked)
    if not len(wanted):
        return _NO_SLOTS
    some = codes[wanted]
    pairs = _match(tail.index, some, some, alive, room, checked)
    mine: Array = (wanted[pairs >> 32] << 32) | (pairs & _SLOT)
    return mine


def index_table(index: BitmapIndex) -> Array:
    """Return where the arrays of an index lie, as `match_event` takes them; they must be kept as long as it is used."""
    i = index
    arrays = (
        i.cuts, i.signature_first, i.signature_numbers, i.table_first, i.table, i.partition_key, i.partition_first,
        i.partition_group, i.block_first, i.block_numbers, i.lines, i.group_block, i.group_first, i.group_numbers,
        i.group_lines, i.slot, i.start, i.attribute, i.pool, i.position_numbers, i.position_grid, i.position_first,
        i.position_points,
    )  # fmt: skip
    sizes = [len(i.signature_first) - 1, len(i.cuts), i.partition_key.shape[1], i.seed, i.blocked_rows]
    more = [len(i.position_numbers), i.key_low.ctypes.data, i.key_span.ctypes.data]
    return np.array([*sizes, *(one.ctypes.data for one in arrays), *more], np.int64)


def _match_lists(index: BitmapIndex, codes: Array, positions: Array, alive: Array) -> Array:
    i = index
    pairs: Array = match_lists(
        codes, positions, alive, i.list_numbers, i.list_keys, i.list_code, i.list_first, i.list_table, i.list_posting,
        i.slot, i.start, i.attribute, i.bounds, i.pool,
    )  # fmt: skip
    return pairs


def index_rows(index: BitmapIndex) -> Rows:
    """Return the rows of an index as they were given, keys and lists included."""
    keyed = index.listed_from
    stored = index.stored()
    end = int(stored.start[keyed])
    start, attribute, bounds = restore_keys(
        index.partition_first,
        index.partition_key,
        index.partition_signature(),
        index.signature_first,
        index.signature_numbers,
        stored.start[: keyed + 1],
        stored.attribute[:end],
        stored.bounds[:end],
    )
    rows = Rows(index.slot[:keyed], start, attribute, bounds, stored.pool)
    if keyed == index.row_count:
        return rows
    rest = Rows(
        stored.slot[keyed:], stored.start[keyed:] - end, stored.attribute[end:], stored.bounds[end:], stored.pool
    )
    return Rows.concatenate([rows.trimmed(), restored(rest.trimmed(), index.lists(), keyed)])
