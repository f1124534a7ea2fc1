"""`rookery demo`: the pipeline on embedded Spark in about a minute, ending in one line of proof."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import Json, note, write, write_json

__all__ = ["EXAMPLES", "command"]

EXAMPLES = ["rookery demo", "rookery demo --events 10000000"]


def command(
    events: Annotated[int, typer.Option(help="Events of the bulk run.")] = 2_000_000,
    master: Annotated[str | None, typer.Option(help="A Spark master; embedded when not given.")] = None,
    json: Json = False,
) -> int:
    """Generate telemetry and 10,000 subscriptions, match a batch and a stream, edit a rule, and prove the result.

    The last line compares Spark with an independent evaluation in NumPy, pair for pair.
    """
    from rookery.spark.demonstration import demonstrate
    from rookery.spark.failures import plain_failure
    from rookery.spark.sessions import session

    note("starting Spark")
    spark = session(master=master)
    try:
        with tempfile.TemporaryDirectory(prefix="rookery-demo-") as folder:
            proof = demonstrate(spark, Path(folder), bulk=events, say=note if json else write)
    except Exception as error:
        raise plain_failure(error) from error
    finally:
        spark.stop()
    if json:
        write_json(
            {
                "spark": proof.spark,
                "oracle": proof.oracle,
                "missed": proof.missed,
                "extra": proof.extra,
                "rule_change_seen_in_batch": proof.batch,
            }
        )
    else:
        write(str(proof))
    return ExitCode.DONE if proof.holds else ExitCode.FAILED
