"""The real `gerbang` program in a child process: piped, or at a pseudo-terminal."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

PROGRAM = str(Path(sys.executable).parent / "gerbang")
_LIMIT_S = 240  # the embedded model shares two cores with everything else


class Ran:
    """What a piped run printed, and how it ended."""

    def __init__(self, done: "subprocess.CompletedProcess[bytes]") -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()

    @property
    def json(self) -> Any:
        """The only JSON document on standard output."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Every line of standard output as JSON."""
        return [json.loads(line) for line in self.out.splitlines()]


def environment(home: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    """A clean environment with its home in `home`."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
    return {**kept, "HOME": str(home), "TERM": "xterm", "PYTHONUTF8": "1", **(extra or {})}


def gerbang(
    *arguments: str | bytes, cwd: Path, text: bytes | str = b"", env: dict[str, str] | None = None
) -> Ran:
    """Run the program with `text` on its standard input."""
    data = text.encode() if isinstance(text, str) else text
    command: list[str | bytes] = [PROGRAM, *arguments]
    done = subprocess.run(
        command, cwd=cwd, input=data, capture_output=True, env=environment(cwd, env), timeout=_LIMIT_S
    )
    return Ran(done)


class Terminal:
    """The program at a pseudo-terminal, with somebody who reads the screen and types."""

    def __init__(self, *arguments: str, cwd: Path, env: dict[str, str] | None = None) -> None:
        self.screen = ""
        self._read = 0
        self._pid, self._master = pty.fork()
        if self._pid == 0:
            os.chdir(cwd)
            os.execve(PROGRAM, [PROGRAM, *arguments], environment(cwd, env))

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        os.close(self._master)

    def wait_for(self, text: str) -> str:
        """Read until `text` is on the screen, after what was waited for before; return what came."""
        deadline = time.monotonic() + _LIMIT_S
        while (found := self.screen.find(text, self._read)) < 0:
            if not self._more(deadline):
                raise AssertionError(f"{text!r} never came; the screen:\n{self.screen}")
        before, self._read = self.screen[self._read : found], found + len(text)
        return before

    def type(self, keys: str) -> None:
        """Type; a line ends in `\\r`, Ctrl-C is `\\x03`, Ctrl-D `\\x04`.

        A hand needs a moment after it has read the prompt; the prompt is shown just before keys are heard.
        """
        time.sleep(0.1)
        os.write(self._master, keys.encode())

    def end(self) -> int:
        """Wait for the program to end, and return its exit code."""
        deadline = time.monotonic() + _LIMIT_S
        while self._more(deadline):
            pass
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return os.waitstatus_to_exitcode(status)

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._master], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._master, 65_536)
        except OSError:  # the program closed its side
            return False
        self.screen += data.decode("utf-8", "replace")
        return bool(data)
