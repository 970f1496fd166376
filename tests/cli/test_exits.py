"""Exit codes, and errors without a stack trace."""

import os
import subprocess
import sys

import pytest

from gerbang.cli.exits import Exit, for_status, report
from gerbang.errors import ConfigError, ContractError, ModelTimeout, PolicyError, StoreBusy, UsageError


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("completed", 0), ("ok", 0), ("error", 1), ("max_steps", 1), ("budget", 1), ("denied", 1),
        ("model_error", 1), ("pending", 3), ("pending_approval", 3), ("cancelled", 130),
    ],
)  # fmt: skip
def test_status(status: str, code: int) -> None:
    assert for_status(status) == code


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (UsageError("Write it so."), Exit.USAGE, "Error: Write it so.\n"),
        (ConfigError("Set it so."), Exit.USAGE, "Error: Set it so.\n"),
        (PolicyError("line 3"), Exit.USAGE, "Error: line 3\n"),
        (ContractError("bad"), Exit.USAGE, "Error: bad\n"),
        (StoreBusy("Try again."), Exit.FAILED, "Error: Try again.\n"),
        (ModelTimeout("Too slow."), Exit.FAILED, "Error: Too slow.\n"),
        (UsageError("'my://u:pw0rd@h' is none."), Exit.USAGE, "Error: 'my://u:[redacted]@h' is none.\n"),
        (ConfigError("a \x1b[31m b"), Exit.USAGE, "Error: a \\x1b[31m b\n"),
    ],
)
def test_our_errors(error: Exception, code: Exit, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(error) == code
    assert capsys.readouterr().err == text


def test_a_bug_gets_a_reference_and_tells_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(RuntimeError("the key is sk-123")) == Exit.FAILED
    shown = capsys.readouterr().err
    assert "RuntimeError, reference " in shown
    assert "GERBANG_DEBUG=1" in shown
    assert "sk-123" not in shown
    assert "Traceback" not in shown


def test_debugging_shows_where() -> None:
    program = (
        "import sys\nfrom gerbang.cli.exits import report\n"
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    sys.exit(report(error))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "GERBANG_DEBUG": "1"}, capture_output=True
    )
    assert done.returncode == 1
    assert b"Traceback" in done.stderr


def test_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(KeyboardInterrupt()) == 130
    assert "Interrupted." in capsys.readouterr().err


def test_interrupted_while_the_program_is_still_loading() -> None:
    program = (
        "import builtins, os, signal\nfrom gerbang.cli import main\nload = builtins.__import__\n"
        "def slow(name, *rest):\n"
        "    if name == 'typer':\n        os.kill(os.getpid(), signal.SIGINT)\n"
        "    return load(name, *rest)\n"
        "builtins.__import__ = slow\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program, "--version"], capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (Exit.INTERRUPTED, b"", b"")


def test_the_package_is_the_command_too() -> None:
    for arguments, code in ((["--version"], 0), (["no-such-command"], 2)):
        command = [sys.executable, "-m", "gerbang", *arguments]
        assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == code


@pytest.mark.parametrize(("lang", "word"), [("en", "Error: this cannot"), ("id", "Galat: ini tidak bisa")])
def test_output_that_cannot_be_written_is_no_defect(lang: str, word: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gerbang", "tools", "list", "--lang", lang],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.startswith(word)
    assert len(done.stderr.splitlines()) == 1
