"""How each command is used, at the end of its help. Commands may also have examples in their own text."""

from collections.abc import Mapping
from typing import Final

import typer

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "demo": ("gerbang demo", "gerbang demo --lang id", "gerbang demo 'Read notes.txt'"),
    "chat": (
        "gerbang chat",
        "gerbang chat 'What is 25 * 4 + 10?'",
        "gerbang chat --lang id --model ollama:MODEL@http://127.0.0.1:11434",
        "cat question.txt | gerbang chat",
        "gerbang chat --lines --json < questions.txt",
    ),
    "call": (
        """gerbang call calculate '{"expression": "25 * 4 + 10"}'""",
        """gerbang call mail.send.v1 '{"to": "ana"}' --python mytools:tools --dry-run""",
        """gerbang call get_weather '{"city": "Oslo"}' --tools tools.json --secrets file:secrets.gerbang""",
        "gerbang call read_file - < arguments.json",
    ),
    "kill": (
        "gerbang kill tool:mail.send.v1 --reason 'wrong recipients'",
        "gerbang kill all --reason drill",
    ),
    "revive": ("gerbang revive tool:mail.send.v1",),
    "kills": ("gerbang kills", "gerbang kills --json"),
    "parse": ("gerbang parse --dialect qwen3_coder < answer.txt", "gerbang parse --explain < answer.txt"),
    "serve": (
        "gerbang serve",
        "gerbang serve --tools tools.json --profile voice",
        "gerbang serve --port 0 --model off",
    ),
    "tools list": (
        "gerbang tools list",
        "gerbang tools list --tools tools.json --json",
    ),
    "tools show": ("gerbang tools show read_file",),
    "tools lint": ("gerbang tools lint contracts/", "gerbang tools lint --module mytools --sarif"),
    "tools approve": (
        "gerbang tools approve --contracts contracts/",
        "gerbang tools approve mail.send.v1 --contracts contracts/",
    ),
    "tools schema": ("gerbang tools schema > contract.schema.json",),
    "runs list": ("gerbang runs list --limit 5", "gerbang runs list --json"),
    "runs show": ("gerbang runs show run_6b5d",),
    "runs resume": ("gerbang runs resume run_6b5d",),
    "runs recover": ("gerbang runs recover",),
    "runs cancel": ("gerbang runs cancel run_6b5d --reason 'wrong customer'",),
    "runs uncertain": ("gerbang runs uncertain", "gerbang runs uncertain --json"),
    "runs resolve": (
        "gerbang runs resolve run_6b5d --happened --as bo --reason 'it is in the ledger of the bank'",
        "gerbang runs resolve run_6b5d call_842edd747102 --not-happened --as bo",
    ),
    "runs cost": ("gerbang runs cost --by tool --since 7d",),
    "audit verify": (
        "gerbang audit verify",
        "gerbang audit verify --checkpoint /mnt/kept/monday.jsonl --key ed25519.pub",
    ),
    "audit checkpoint": ("gerbang audit checkpoint --out /mnt/kept/monday.jsonl",),
    "audit export": (
        "gerbang audit export --format cloudevents > events.jsonl",
        "gerbang audit export run_6b5d --format receipts --environment prod",
    ),
    "audit erase": ("gerbang audit erase run_6b5d --reason 'asked for by the customer'",),
    "audit prune": ("gerbang audit prune --days 90",),
    "audit seal-key": ("gerbang audit seal-key file:/etc/gerbang/seal.keys",),
    "replay": ("gerbang replay run_6b5d --policy rules.yaml",),
    "approvals list": ("gerbang approvals list", "gerbang approvals list --json"),
    "approvals show": ("gerbang approvals show apr_81dc8d4a292489645fec",),
    "approvals approve": (
        "gerbang approvals approve apr_81dc8d4a292489645fec --as bo",
        "gerbang approvals approve apr_81dc8d4a292489645fec --as bo --mark sha256:6a0f61eb38ed",
    ),
    "approvals deny": ("gerbang approvals deny apr_81dc8d4a292489645fec --reason 'not this customer'",),
    "approvals edit": ("""gerbang approvals edit apr_81dc8d4a292489645fec --arguments '{"to": "al"}'""",),
    "approvals cancel": ("gerbang approvals cancel apr_81dc8d4a292489645fec",),
    "approvals outbox": ("gerbang approvals outbox", "gerbang approvals outbox --given-up --json"),
    "secrets set": ("gerbang secrets set WEATHER_KEY --secrets file:secrets.bin",),
    "secrets list": ("gerbang secrets list --secrets file:secrets.bin",),
    "secrets rm": ("gerbang secrets rm WEATHER_KEY --secrets file:secrets.bin",),
    "secrets bind": (
        "gerbang secrets bind MAIL_KEY --tenant acme --tool 'mail.*' --config gerbang.toml",
        "gerbang secrets bind WEATHER_KEY --origin https://api.weather.example --config gerbang.toml",
        "gerbang secrets bind SHARED_KEY --any --config gerbang.toml",
    ),
    "secrets unbind": ("gerbang secrets unbind MAIL_KEY --config gerbang.toml",),
    "secrets bindings": (
        "gerbang secrets bindings --config gerbang.toml",
        "gerbang secrets bindings --config gerbang.toml --json",
    ),
    "config show": ("gerbang config show", "gerbang config show --config gerbang.toml --json"),
    "keys create": ("gerbang keys create --user ana --tenant acme --right calls --days 30",),
    "keys list": ("gerbang keys list",),
    "keys revoke": ("gerbang keys revoke k_6b5d",),
}


def show_examples(app: typer.Typer, group: str = "") -> None:
    """Put the examples behind the help of every command, those of groups too."""
    for command in app.registered_commands:
        name = command.name or getattr(command.callback, "__name__", "")
        lines = EXAMPLES.get(f"{group} {name}".strip(), ())
        if lines:
            command.epilog = "Examples:\n\n\b\n" + "\n".join(f"  {line}" for line in lines)
    for inner in app.registered_groups:
        if inner.typer_instance is not None and isinstance(inner.name, str):
            show_examples(inner.typer_instance, inner.name)
