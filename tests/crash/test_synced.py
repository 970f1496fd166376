"""What the kernel sees: the intent is synced to disk before the first byte of the effect leaves."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from .harness import ROOT

CALLS = "fdatasync,fsync,pwrite64,write,sendto,sendmsg,writev"
_UNFINISHED = re.compile(r"(?P<pid>\d+) (?P<call>\w+)\((?P<rest>.*) <unfinished \.\.\.>$")
_RESUMED = re.compile(r"(?P<pid>\d+) <\.\.\. (?P<call>\w+) resumed>(?P<rest>.*)$")


def whole_calls(trace: str) -> list[str]:
    """Return the calls in order: one that sends counts from when it began, any other when it came back."""
    begun: dict[tuple[str, str], str] = {}
    calls: list[str] = []
    for line in trace.splitlines():
        line = re.sub(r"^(?:\[pid +)?(\d+)\]? +", r"\1 ", line)
        if found := _UNFINISHED.match(line):
            if found["call"] not in ("fdatasync", "fsync", "pwrite64"):
                calls.append(line.partition(" ")[2])
                continue
            begun[found["pid"], found["call"]] = found["rest"]
        elif found := _RESUMED.match(line):
            rest = begun.pop((found["pid"], found["call"]), None)
            if rest is not None:
                calls.append(f"{found['call']}({rest}{found['rest']}")
        else:
            calls.append(line.partition(" ")[2])
    return calls


def test_the_intent_is_on_disk_before_the_request_leaves(tmp_path: Path) -> None:
    strace = shutil.which("strace")
    assert strace, "this test needs strace: `apt-get install strace`"
    store, trace = tmp_path / "store.db", tmp_path / "trace"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.crash.target", str(tmp_path / "effects")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as target:
        assert target.stdout is not None
        origin = f"http://127.0.0.1:{target.stdout.readline().strip()}"
        child = subprocess.run(
            [
                *(strace, "-f", "-y", "-s", "100000", "-e", f"trace={CALLS}", "-o", str(trace)),
                *(sys.executable, "-m", "tests.crash.child_sent", str(store), origin),
            ],
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=120,
        )
        target.communicate()
    assert (child.stdout, child.returncode) == ("ok\n", 0), child.stderr
    calls = whole_calls(trace.read_text("utf-8", "replace"))
    journal = f"<{store}-wal>"
    (sent,) = [i for i, call in enumerate(calls) if "POST /plain/ok" in call]
    intents = [
        i
        for i, call in enumerate(calls)
        if call.startswith("pwrite64") and journal in call and "traced" in call
    ]
    outcomes = [i for i in intents if i > sent]
    written = max(i for i in intents if i < sent)
    synced = [
        i
        for i, call in enumerate(calls[:sent])
        if call.startswith(("fdatasync", "fsync")) and journal in call and call.endswith("= 0")
    ]
    assert outcomes, "the outcome is written too"
    assert written < synced[-1] < sent
    late = [call for call in calls[synced[-1] : sent] if call.startswith("pwrite64") and journal in call]
    assert late == []
