"""The options of `rookery serve`."""

from __future__ import annotations

from .option_modes import CREDENTIALS, LOG_FORMAT, METRICS, Mode, joined

__all__ = ["MODES"]

SERVING = {
    "host": ("--host 127.0.0.2", "http://127.0.0.2/"),
    "port": ("--port 1", "bind('127.0.0.1', 1"),
    "token": ("--token SECRET", "/SECRET"),
    "name": ("--name page.example", "names=['page.example']"),
    "seconds": ("--seconds 5", "serve(seconds=5.0)"),
    "log_format": LOG_FORMAT["log_format"],
    "metrics": METRICS["metrics"],
    "json": ("--json", '{"url": '),
}
LIVE_ONLY = {
    "domain_id": "--domain-id 7",
    "interface": "--interface eth0",
    "broker": "--broker 127.0.0.1:1",
    "examples": "--examples",
    "simulate": "--simulate",
    "brokers": "--brokers 3",
    "participants": "--participants 4",
    "rate": "--rate 5",
    "record": "--record out",
    "key_file": "--key-file key",
    "certificate": "--certificate c",
    "private_key": "--private-key k",
    "authority": "--authority a",
}
LEAVE_FILES = "leave the files out to watch what is live"

MODES = [
    Mode(
        "serve",
        "run.jsonl",
        joined(
            SERVING,
            {
                "follow": ("--follow", "tail("),
                "speed": ("--speed 4", "speed=4.0"),
                "loop": ("--loop", "loop=True"),
            },
        ),
        LIVE_ONLY,
        (LEAVE_FILES,),
    ),
    Mode(
        "serve",
        "--follow run.jsonl",
        SERVING,
        {**LIVE_ONLY, "speed": "--speed 4", "loop": "--loop"},
        (LEAVE_FILES, "give one recorded run without --follow"),
        ("follow",),
    ),
    Mode(
        "serve",
        "",
        joined(
            SERVING,
            {
                "follow": ("--follow run.jsonl", "tail("),
                "domain_id": ("--domain-id 7", "domain(<Recorder>, 7"),
                "interface": ("--interface eth0", "'eth0'"),
                "broker": ("--broker 127.0.0.1:1", "'127.0.0.1:1'"),
                "simulate": ("--simulate", "simulation("),
                "record": ("--record out", "Recorder(PosixPath('out')"),
            },
        ),
        {
            "examples": "--examples",
            "key_file": "--key-file key",
            "certificate": "--certificate c",
            "private_key": "--private-key k",
            "authority": "--authority a",
            "brokers": "--brokers 3",
            "participants": "--participants 4",
            "rate": "--rate 5",
            "speed": "--speed 4",
            "loop": "--loop",
        },
        ("give --broker too", "give --simulate too", "give one recorded run without --follow"),
    ),
    Mode(
        "serve",
        "--simulate --broker 127.0.0.1:1",
        joined(
            SERVING,
            CREDENTIALS,
            {
                "domain_id": ("--domain-id 7", "domain(<Recorder>, 7"),
                "broker": ("--broker 127.0.0.1:2", "'127.0.0.1:2'"),
                "examples": ("--examples", ">, True)"),
                "brokers": ("--brokers 3", "(<Recorder>, 3, 60, 100)"),
                "participants": ("--participants 4", "(<Recorder>, 64, 4, 100)"),
                "rate": ("--rate 5", "(<Recorder>, 64, 60, 5)"),
                "record": ("--record out", "Recorder(PosixPath('out')"),
            },
        ),
        {"interface": "--interface eth0", "speed": "--speed 4", "loop": "--loop"},
        ("give --domain-id too", "give one recorded run without --follow"),
        ("simulate", "follow"),
    ),
]
