"""The options of the commands that read files, start Spark, or look at this machine."""

from __future__ import annotations

from .option_modes import GONE, JSON, Mode, joined

__all__ = ["MODES"]

READING = {
    "event_id": ("--event-id number", "'number'"),
    "time": ("--time ts", "'ts'"),
    "topic": ("--topic quotes", "'quotes'"),
    "as_of": ("--as-of 2026-03-01", "datetime.datetime(2026, 3, 1"),
    "schema": ("--schema price:float64", "`price` double"),
    "id_type": ("--id-type int", "id_type='int'"),
    "dialect": ("--dialect where", "dialect='where'"),
    "engine": ("--engine matrix", "'matrix'"),
    "master": ("--master spark://head", "session(master='spark://head')"),
}
TABLE = {
    "table_version": ("--table-version 7", "version=7"),
    "table_time": ("--table-time 2026-03-02", "datetime.datetime(2026, 3, 2"),
}
ALERTS = {
    "columns": ("--columns device,value", "['device', 'value']"),
    "subscription_columns": ("--subscription-columns severity", "['severity']"),
    "fail_on_quarantine": ("--fail-on-quarantine", "'raise'"),
}
FILES_OF = {
    "subscriptions": ("-s plain.csv", "plain.csv"),
    "events": ("-e other.csv", "other.csv"),
}

MODES = [
    Mode(
        "validate",
        "rules.csv --schema price:float64",
        joined(
            JSON,
            {
                "schema": ("--schema cost:float64", "0 good, 3 bad"),
                "id_type": ("--id-type float", "an id type is 'int' or 'string'"),
                "dialect": ("--dialect sigam", "did you mean 'sigma'?"),
            },
        ),
    ),
    Mode(
        "lint",
        "rules.csv --schema price:float64 --only fault",
        joined(
            JSON,
            {
                "schema": ("--schema cost:float64", "3 fault"),
                "events": ("--events nowhere.jsonl", "nowhere.jsonl"),
                "only": ("--only covered,always", "covered"),
                "id_type": ("--id-type float", "an id type is 'int' or 'string'"),
                "dialect": ("--dialect sigam", "did you mean 'sigma'?"),
            },
        ),
    ),
    Mode(
        "explain",
        "rules.csv --schema price:float64 --event '{\"price\": 1}' --time 2025-06-01",
        joined(
            {"json": ("--json", '"subscription_id"')},
            {
                "schema": ("--schema cost:float64", "3 bad subscriptions are left out"),
                "event": ("--event '{\"price\": 7}'", "price is 7.0"),
                "id": ("--id nobody", "nobody"),
                "topic": ("--topic other", "'other'"),
                "time": ("--time 2026-06-01", "'3' version 1 matches"),
                "id_type": ("--id-type int", "1 version 1 matches"),
                "dialect": ("--dialect sigam", "did you mean 'sigma'?"),
            },
        ),
    ),
    Mode(
        "match",
        "-s rules.csv -e events.csv -o out",
        joined(
            JSON,
            READING,
            FILES_OF,
            TABLE,
            ALERTS,
            {
                "out": ("-o elsewhere", "elsewhere"),
                "explain": ("--explain", "explain=True"),
                "plan": ("--plan zoned", "plan='zoned'"),
                "explain_plan": ("--explain-plan", "only_plan=True"),
                "overwrite": ("--overwrite", "overwrite=True"),
                "table_version": ("--table-version 7", "'version': 7"),
                "stream": ("--stream --checkpoint state", "stream("),
                "drain": ("--drain --checkpoint state", "drain=True"),
            },
        ),
        {"checkpoint": "--checkpoint state", "format": "--format jsonl", "edits": "--edits edits"},
        ("give --stream or --drain",),
    ),
    Mode(
        "match",
        "-s rules.csv -e events.csv -o out --stream --checkpoint state",
        joined(
            JSON,
            READING,
            FILES_OF,
            ALERTS,
            {
                "out": ("-o elsewhere", "elsewhere"),
                "checkpoint": ("--checkpoint another", "checkpoint='another'"),
                "drain": ("--drain", "drain=True"),
                "edits": ("--edits edits", "edits='edits'"),
                "format": ("--format jsonl", "format='jsonl'"),
            },
        ),
        {
            "explain": "--explain",
            "plan": "--plan zoned",
            "explain_plan": "--explain-plan",
            "overwrite": "--overwrite",
            "table_version": "--table-version 7",
            "table_time": "--table-time 2026-03-02",
        },
        ("run the batch without --stream and --drain",),
        ("stream",),
    ),
    Mode(
        "backtest",
        "-s rules.csv -e events.csv",
        joined(
            JSON,
            READING,
            FILES_OF,
            TABLE,
            {
                "key": ("--key device", "key='device'"),
                "top": ("--top 3", ".limit(3)"),
                "samples": ("--samples 5", "samples=5"),
            },
        ),
    ),
    Mode(
        "diff",
        "rules.csv plain.csv -e events.csv",
        joined(
            JSON,
            READING,
            {"events": FILES_OF["events"]},
            TABLE,
            {
                "out": ("-o differences", "differences"),
                "top": ("--top 1", GONE + "second"),
            },
        ),
    ),
    Mode(
        "demo",
        "",
        joined(
            {
                "events": ("--events 5", "demonstrate(5"),
                "master": ("--master spark://head", "'spark://head'"),
                "serve": ("--serve", "serve_while("),
                "record": ("--record run", "PosixPath('run')"),
                "json": ("--json", "True, None)"),
            }
        ),
        {"port": "--port 1"},
        ("give --serve too",),
    ),
    Mode(
        "demo",
        "--serve",
        joined(
            {
                "events": ("--events 5", "demonstrate(5"),
                "master": ("--master spark://head", "'spark://head'"),
                "port": ("--port 1", "'port': 1"),
                "record": ("--record run", "'record': PosixPath('run')"),
                "json": ("--json", "True, <recorder>)"),
            }
        ),
        makes=("serve",),
    ),
    Mode(
        "plan",
        "graph.json --protocols hashes",
        joined(
            JSON,
            {
                "group_by": ("--group-by p", "1 participants"),
                "protocols": ("--protocols hashes,server", "server (model)"),
                "round_trip_ms": ("--round-trip-ms 5000", "12.501"),
                "link_mbit": ("--link-mbit 0.001", "6.642"),
                "stack": ("--stack fastdds", "Fast DDS (here)"),
                "html": ("--html page.html", "the page is in page.html"),
                "master": ("--master spark://head", "'master': 'spark://head'"),
            },
        ),
    ),
    Mode(
        "plan",
        "fleet.csv --protocols hashes",
        joined(
            JSON,
            {
                "protocols": ("--protocols hashes,server", "['hashes', 'server']"),
                "round_trip_ms": ("--round-trip-ms 5000", "round_trip=5.0"),
                "link_mbit": ("--link-mbit 1", "=125000.0"),
                "stack": ("--stack fastdds", "'stack': 'fastdds'"),
                "html": ("--html page.html", "the page is in page.html"),
                "master": ("--master spark://head", "'master': 'spark://head'"),
            },
        ),
        {"group_by": "--group-by p"},
        ("give a ROS 2 graph in JSON",),
    ),
    Mode(
        "reproduce",
        "seed-000",
        joined(
            {
                "quick": ("--quick", "quick=True"),
                "seed": ("--seed 7", "seed=7"),
                "master": ("--master spark://head", "master='spark://head'"),
                "out": ("--out elsewhere", "PosixPath('elsewhere')"),
                "listing": ("--list", GONE + "reproduce("),
                "json": ("--json", "[]"),
            }
        ),
    ),
    Mode(
        "reproduce",
        "seed-000 --list",
        {"json": ("--json", '"section"')},
        {"quick": "--quick", "seed": "--seed 7", "master": "--master m", "out": "--out elsewhere"},
        ("run them without --list",),
        ("listing",),
    ),
    Mode(
        "test",
        "",
        joined(
            {
                "keyword": ("-k words", "'-k', 'words'"),
                "marker": ("-m wire", "'-m', 'wire'"),
                "slow": ("--slow", "'--slow'"),
                "coverage": ("--coverage", "'--cov'"),
                "sparks": ("--sparks", "test_every_spark.py"),
                "hostile": ("--hostile", "tests/hostile"),
                "json": ("--json", '"passed"'),
            }
        ),
    ),
    Mode("config", "match", {"json": ("--json", '"origin"')}),
    Mode("completion", "bash", {}),
    Mode(
        "doctor",
        "",
        joined(
            JSON,
            {
                "interface": ("--interface 127.0.0.1", "interface='127.0.0.1'"),
                "domain_id": ("--domain-id 7", "domain_id=7"),
                "folder": ("--dir elsewhere", "/elsewhere')"),
            },
        ),
    ),
    Mode(
        "keys",
        "--client ann",
        joined(
            JSON,
            {
                "out": ("--out elsewhere", "at(PosixPath('elsewhere'))"),
                "broker": ("--broker one=127.0.0.1", "certify('one', 'broker', hosts=['127.0.0.1']"),
                "client": ("--client bob", "certify('bob', 'client'"),
                "operator": ("--operator olga", "certify('olga', 'operator'"),
                "days": ("--days 3", "days=3"),
            },
        ),
    ),
]
