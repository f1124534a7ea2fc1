"""The log of a broker gives back its batches."""

from __future__ import annotations

from rookery.brokers.batches import batch_of
from rookery.brokers.records import open_records
from rookery.brokers.row_cuts import part_of
from rookery.simulated.disks import SimulatedDisk


def test_a_log_gives_back_batches_and_parts_of_them() -> None:
    disk = SimulatedDisk()
    whole = batch_of(7, 100, [{"x": 0.5, "name": "ä"}, {"x": None, "name": ""}])
    part = part_of(whole, [1])
    log = open_records(disk)
    log.append([log.group([(1, 4, whole), (2, 9, part), (1, 5, whole)], ())], sync=True)
    log.append([log.group([], ((1, 5),))], sync=True)
    assert {(owner, number): batch for owner, number, batch in open_records(disk).entries()} == {
        (1, 4): whole,
        (2, 9): part,
    }
