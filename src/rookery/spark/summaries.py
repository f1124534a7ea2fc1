"""One summary per participant from a DataFrame of endpoints: filters for fleets larger than memory.

    summaries = summarize(endpoints, by="participant")
    participant | endpoints | summary (binary) | false_positive_rate

Rule: the bytes are those that the participant itself would announce for the same endpoints. Spark groups, the key of an
endpoint is put together inside the JVM, and each group crosses to Python once, as Arrow; a summary is built from the
buffers of its group and nothing is collected on the driver. One participant's endpoints must fit into a worker, the
fleet need not. The order of the rows does not matter: keys are sorted before they are added, because a cuckoo table or
a tree depends on the order of insertion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rookery.errors import PipelineError
from rookery.filters import STRUCTURES, DomainKey
from rookery.filters import summarize as summarize_keys

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["summarize"]

_KEY = "__key"


def summarize(
    endpoints: DataFrame,
    by: str = "participant",
    *,
    kind: str = "kind",
    topic: str = "topic",
    type_name: str = "type_name",
    structure: str = "ribbon",
    false_positive_rate: float = 1 / 128,
    seed: int = 0,
    domain_key: DomainKey | None = None,
    epoch: int = 0,
) -> DataFrame:
    """Return one row for each value of `by`: how many different endpoints, their summary, and its rate.

    `kind` ('W' or 'R'), `topic` and `type_name` name the columns of an endpoint. An endpoint without one of them fails
    the job: a summary that silently left it out would hide it from everybody.
    """
    from pyspark.sql import functions

    missing = [name for name in (by, kind, topic, type_name) if name not in endpoints.columns]
    if missing:
        raise PipelineError(
            f"no column {', '.join(map(repr, missing))}; there are {', '.join(endpoints.columns)}: "
            "name yours with by=, kind=, topic= and type_name="
        )
    if structure not in STRUCTURES:
        raise PipelineError(f"no structure is called {structure!r}; choose from {', '.join(STRUCTURES)}")
    # concat, not concat_ws: a null part must make a null key, which is then refused, and not a shorter key.
    parts = (functions.col(f"`{kind}`"), functions.col(f"`{topic}`"), functions.col(f"`{type_name}`"))
    separator = functions.lit("\x1f")
    key = functions.concat(parts[0], separator, parts[1], separator, parts[2])
    keyed = endpoints.select(functions.col(f"`{by}`"), key.alias(_KEY))
    identity = keyed.schema[0]

    def build(table: pa.Table) -> pa.Table:
        keys = table.column(_KEY)
        if keys.null_count:
            raise PipelineError(
                f"{keys.null_count} endpoints of {table.column(0)[0]} lack their {kind}, {topic} or {type_name}"
            )
        different = keys.unique().sort()
        made = summarize_keys(different, structure, false_positive_rate, seed=seed, domain_key=domain_key, epoch=epoch)
        columns: dict[str, Any] = {
            by: table.column(0).slice(0, 1).combine_chunks(),
            "endpoints": pa.array([len(different)], pa.int64()),
            "summary": pa.array([made.to_bytes()], pa.binary()),
            "false_positive_rate": pa.array([made.expected_false_positive_rate], pa.float64()),
        }
        return pa.table(columns)

    schema = f"`{by}` {identity.dataType.simpleString()}, endpoints bigint, summary binary, false_positive_rate double"
    return keyed.groupBy(f"`{by}`").applyInArrow(build, schema)
