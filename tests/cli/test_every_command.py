"""What holds for every command: help with examples that are right, --json, no colours, a clean Ctrl-C."""

import importlib
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from gerbang.cli.app import COMMANDS as LISTED
from gerbang.cli.app import build, run
from gerbang.cli.texts import speak
from tests.cli.terminal import PROGRAM, environment


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        yield " ".join(path), command
    for name, one in (inner or {}).items():
        yield from leaves(one, (*path, name))


COMMANDS = dict(leaves(get_command(build())))


def test_the_list_of_commands_names_every_one_and_its_module() -> None:
    assert set(get_command(build()).commands) == set(LISTED)  # type: ignore[attr-defined]
    for name, (module, _) in LISTED.items():
        app = typer.Typer()
        importlib.import_module(f"gerbang.cli.{module}").register(app)
        app.command("another")(lambda: None)  # typer has no group of one
        assert name in get_command(app).commands  # type: ignore[attr-defined]


def examples(command: Any) -> list[str]:
    """The lines of a command's help that begin with the program's name."""
    return re.findall(
        r"^ *(?:cat \S+ \| )?(gerbang .+)$", f"{command.help}\n{command.epilog or ''}", re.MULTILINE
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_examples_that_are_right(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = examples(COMMANDS[name])
    assert shown
    for line in shown:
        words = shlex.split(re.split(r" [<>|] ", line)[0])
        place = ["gerbang", *name.split()]
        assert words[: len(place)] == place
        COMMANDS[name].make_context(name, words[len(place) :])  # raises for what the command does not take
    assert run([*name.split(), "--help"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Usage: gerbang")
    assert all(line in printed for line in shown)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json(name: str) -> None:
    assert "--json" in {option for given in COMMANDS[name].params for option in given.opts}


QUICK = [
    ["call", "calculate", '{"expression": "1 + 1"}'],
    ["call", "calculate", "{}"],
    ["call", "calculate", '{"expression": "1"}', "--dry-run"],
    ["tools", "list"],
    ["tools", "show", "calculate"],
    ["tools", "lint"],
    ["tools", "approve"],
    ["tools", "schema"],
    ["policy", "test", "strict"],
    ["policy", "lint", "strict"],
    ["policy", "explain", "strict", '{"tool": {"name": "a.b.v1", "risk_class": "compute"}}'],
    ["policy", "replay", "strict"],
    ["runs", "list"],
    ["runs", "show", "nothing"],
    ["runs", "resume", "nothing"],
    ["runs", "recover"],
    ["approvals", "list"],
    ["approvals", "show", "nothing"],
    ["approvals", "approve", "nothing"],
    ["approvals", "deny", "nothing"],
    ["approvals", "edit", "nothing", "--arguments", "{}"],
    ["approvals", "cancel", "nothing"],
    ["kill", "tool:a.b.v1", "--reason", "drill"],
    ["kills"],
    ["revive", "tool:a.b.v1"],
    ["audit", "verify"],
    ["audit", "checkpoint"],
    ["audit", "export"],
    ["audit", "erase", "nothing", "--reason", "asked"],
    ["audit", "prune", "--days", "30"],
    ["audit", "seal-key", "file:seal.keys"],
    ["replay", "nothing"],
    ["secrets", "list"],
    ["secrets", "rm", "NOTHING"],
    ["secrets", "bind", "MAIL_KEY", "--tenant", "acme"],
    ["secrets", "unbind", "MAIL_KEY"],
    ["secrets", "bindings"],
    ["config", "show"],
    ["keys", "list"],
    ["keys", "create", "--user", "ana", "--tenant", "acme", "--right", "calls"],
    ["keys", "revoke", "nothing"],
    ["chat", ""],
    ["nothing"],
]


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("arguments", QUICK, ids=" ".join)
def test_no_colours_no_trace_no_other_code(
    arguments: list[str],
    more: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.setenv(name, "1")
    code = run([*arguments, *more])
    speak("en")
    shown = capsys.readouterr()
    assert "\x1b" not in shown.out + shown.err
    assert "inside Gerbang" not in shown.err
    assert "Traceback" not in shown.err
    assert code in (0, 1, 2, 3)
    assert bool(shown.err) or code == 0 or arguments[0] in ("tools", "call", "policy")
    if code == 2:
        assert shown.out == ""
        assert shown.err.splitlines()[-1].startswith("Error: ")


LONG = [
    (["serve", "--port", "0", "--model", "off"], "listens on", (0, 130)),
    (["call", "slow.wait.v1", '{"seconds": 60}', "--python", "mytools:tools"], "started.txt", (130,)),
    (["demo"], "What is", (130,)),
]


@pytest.mark.parametrize(("arguments", "sign", "codes"), LONG, ids=lambda value: str(value)[:12])
def test_ctrl_c(place: Path, arguments: list[str], sign: str, codes: tuple[int, ...]) -> None:
    with subprocess.Popen(
        [PROGRAM, *arguments],
        cwd=place,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(place),
        text=True,
    ) as process:
        assert process.stdout is not None
        while sign != "started.txt" and sign not in process.stdout.readline():
            assert process.poll() is None
        while sign == "started.txt" and not (place / sign).exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode in codes
    assert "Traceback" not in out + err
    assert not (place / "ended.txt").exists()
