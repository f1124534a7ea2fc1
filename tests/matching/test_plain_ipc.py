"""A compressed Arrow buffer is refused before Arrow gives it memory; a plain one of any cut is read or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rookery.errors import CompiledSetError
from rookery.matching import CompiledSet
from rookery.matching.buffers import pack
from rookery.matching.plain_ipc import require_plain_file, require_plain_stream

from .test_checks import crafted
from .test_damage import small_set

TABLE = pa.table({"text": ["\0" * 1_000_000]})


def written(make: Any, table: pa.Table = TABLE, compression: str | None = None) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with make(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    ("make", "check"), [(pa.ipc.new_stream, require_plain_stream), (pa.ipc.new_file, require_plain_file)]
)
def test_what_is_compressed_or_has_dictionaries_is_refused(make: Any, check: Any) -> None:
    check(written(make))
    check(written(make, TABLE.slice(0, 0)))
    for compression in ("zstd", "lz4"):
        with pytest.raises(ValueError, match="compressed"):
            check(written(make, compression=compression))
    with pytest.raises(ValueError, match=r"dictionaries|other than batches"):
        check(written(make, pa.table({"text": pa.array(["a"]).dictionary_encode()})))


def test_any_damage_to_a_footer_is_a_value_error() -> None:
    data = bytes(written(pa.ipc.new_file, pa.table({"a": [1, 2]})))
    for place in range(len(data)):
        for spoiled in (data[:place], data[:place] + b"\xff" + data[place + 1 :], data[place:]):
            try:
                require_plain_file(pa.py_buffer(spoiled))
            except ValueError:
                continue


def test_a_small_set_that_says_to_be_large_is_refused() -> None:
    bomb = written(pa.ipc.new_stream, compression="zstd")
    assert bomb.size < 3_000

    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays["texts/3"] = np.frombuffer(bomb, np.uint8)

    for verify in (True, False):
        with pytest.raises(CompiledSetError, match="compressed"):
            crafted(small_set(), change, verify=verify)
    header, arrays = small_set()._parts()
    batch = pa.ipc.open_file(pack(header, arrays)).get_batch(0)
    whole = written(pa.ipc.new_file, pa.Table.from_batches([batch]), compression="zstd")
    with pytest.raises(CompiledSetError, match="compressed"):
        CompiledSet.from_bytes(whole)
