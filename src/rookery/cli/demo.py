"""`rookery demo`: the whole system on embedded defaults in about a minute, ending in one line of proof."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rookery.cli.exit_codes import ExitCode
from rookery.cli.options import Json, Master, note, write, write_json
from rookery.cli.unused import refuse_unused

if TYPE_CHECKING:
    from rookery.web.recorder import Recorder

__all__ = ["EXAMPLES", "command"]

EXAMPLES = [
    "rookery demo",
    "rookery demo --events 10000000",
    "rookery demo --serve",
    "rookery demo --record demo.jsonl",
]


def command(
    events: Annotated[int, typer.Option(help="Events of the bulk run.")] = 2_000_000,
    master: Master = None,
    serve: Annotated[bool, typer.Option("--serve", help="Show it in the browser, and keep the page open.")] = False,
    port: Annotated[int, typer.Option(help="The port of the page; 0 for any.", min=0, max=65_535)] = 8_765,
    record: Annotated[Path | None, typer.Option(help="Record it for `rookery serve`.")] = None,
    json: Json = False,
) -> int:
    """Run 10,000 subscriptions live and on Spark, edit one while a stream runs, and prove the result.

    Participants find each other on loopback, events go through live brokers, Spark matches the same subscriptions over
    millions of events. The last line compares brokers and Spark with an independent evaluation in NumPy, pair for pair.
    """
    say = note if json else write
    if not serve:
        refuse_unused("port", where="without --serve", instead="give --serve too")
    if serve:
        from rookery.cli.serve import serve_while

        return serve_while(lambda recorder: _run(events, master, say, json, recorder), port=port, record=record)
    if record is not None:
        from rookery.web.recorder import Recorder

        with Recorder(record, title="rookery demo") as recorder:
            return _run(events, master, say, json, recorder)
    return _run(events, master, say, json, None)


def _run(events: int, master: str | None, say: Callable[[str], None], json: bool, recorder: Recorder | None) -> int:
    """Run the demonstration, tell its result, and return the verdict."""
    from rookery.spark.demonstration import demonstrate
    from rookery.spark.failures import plain_failure
    from rookery.spark.sessions import session

    observer = None
    if recorder is not None:
        from rookery.web.producers.demonstration import RecordedDemonstration

        observer = RecordedDemonstration(recorder)
    watched = observer

    def tell(line: str) -> None:
        say(line)
        if watched is not None:
            watched.say(line)

    note("starting Spark")
    spark = session(master=master)
    try:
        with tempfile.TemporaryDirectory(prefix="rookery-demo-") as folder:
            proof = demonstrate(spark, Path(folder), bulk=events, say=tell, observer=observer)
    except Exception as error:
        raise plain_failure(error) from error
    finally:
        with suppress(Exception):  # a Spark that was killed cannot be stopped, and what came of it is known already
            spark.stop()
    if json:
        write_json(asdict(proof))
    else:
        write(str(proof))
    return ExitCode.DONE if proof.holds else ExitCode.FAILED
