"""The process that evaluates Rego: `python -m gerbang.adapters.policy.rego_worker`.

Speaks JSON lines. The first line in is the bundle, `{"entry", "files": [[path, text]], "data"}`; the first
line out is `{"ready": true, "sealed", "facts", "fields"}` (`rego_process.Hello`), or `{"faults": [[file,
line, column, text]]}`. After that each line in is an input document and each line out its answer, in the
same order: `{"value": ...}`, or `{"code", "text"}` when there is none. It ends when its input does.

It starts with a clean environment, bounds its memory and CPU time, and gives up the network, new programs
and new files before it reads a policy. A policy that crashes or never ends takes this process with it and
nothing else: whoever started it kills it.
"""

import importlib
import json
import os
import resource
import sys
import time
from typing import Any, BinaryIO, Final

from gerbang.adapters.models.lockdown import refuse_network
from gerbang.adapters.policy.rego_lint import facts_read, fields_read, lint

MEMORY_BYTES: Final = 512 * 1_048_576
"""Address space of the worker, the engine included."""
CPU_S: Final = 5
"""CPU time for one evaluation, should nobody be left to kill the worker. The limit moves along with use."""
MAX_ANSWER_CHARS: Final = 65_536
_UNDEFINED: Final = '"<undefined>"'
_STATIC: Final = ("could not find function", "is unsafe", "cyclic evaluation", "expects ")
"""Parts of the engine's messages about a policy that can never be evaluated."""


class _Session:
    """One engine with one bundle."""

    def __init__(self, engine: Any, entry: str) -> None:
        self._engine = engine
        self._entry = entry
        self._cpu_limit = 0

    def answer(self, line: bytes) -> bytes:
        """Return the answer to one input document."""
        used = int(time.process_time())
        if used + 2 >= self._cpu_limit:
            self._cpu_limit = used + 2 + CPU_S
            resource.setrlimit(resource.RLIMIT_CPU, (self._cpu_limit, resource.RLIM_INFINITY))
        try:
            self._engine.set_input_json(line.decode())
            text: str = self._engine.eval_rule_as_json(self._entry)
        except Exception as error:  # the engine has one exception for whatever goes wrong
            return _line({"code": "POLICY_EVALUATION", "text": _told(error)})
        if text == _UNDEFINED:
            return b'{"code":"POLICY_UNDEFINED","text":"no rule gave a value"}\n'
        if len(text) > MAX_ANSWER_CHARS:
            return _line({"code": "POLICY_RESULT", "text": f"the result has {len(text)} characters"})
        return b'{"value":' + text.replace("\n", "").encode() + b"}\n"


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _told(error: BaseException) -> str:
    """Return the engine's message in one line, without its stack."""
    lines = str(error).partition("Stack backtrace")[0].strip().splitlines()
    place = lines[0].removeprefix("--> ") + ": " if lines and lines[0].startswith("--> ") else ""
    said = next((line[7:] for line in lines if line.startswith("error: ")), lines[-1] if lines else "")
    return f"{place}{said}"[:500]


def _fault(error: BaseException, file: str) -> list[Any]:
    """Return where and what: the engine writes `--> FILE:LINE:COLUMN` above its `error: ` line."""
    told = _told(error)
    head, _, said = told.partition(": ")
    parts = head.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdigit() and parts[2].isdigit():
        return [parts[0], int(parts[1]), int(parts[2]), said]
    return [file, 0, 0, told]


def _load(bundle: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
    """Return an engine with the bundle in it, the faults of the bundle, and what it reads."""
    module: Any = importlib.import_module("regorus")  # the import name of gordon-to-regorus
    os.environ.clear()
    _seal_files()
    engine = module.Engine()
    faults = []
    for file, text in bundle["files"]:
        try:
            engine.add_policy(file, text)
        except RuntimeError as error:
            faults.append(_fault(error, file))
    if faults:
        return engine, faults, {}
    entry = bundle["entry"]
    reads: dict[str, Any] = {}
    try:
        tree = json.loads(engine.get_ast_as_json())  # checks variables as well
        reads = {"facts": facts_read(tree), "fields": fields_read(tree)}
        faults = [list(fault) for fault in lint(tree, bundle["data"], entry, _builtins(module.Engine()))]
        engine.add_data_json(json.dumps(bundle["data"]))
        engine.set_input_json("{}")
    except RuntimeError as error:
        faults = [_fault(error, entry)]
    if not faults:
        try:
            engine.eval_rule_as_json(entry)  # also makes the first decision as quick as the others
        except RuntimeError as error:
            if any(part in str(error) for part in _STATIC):
                faults = [_fault(error, entry)]
    return engine, faults, reads


def _builtins(engine: Any) -> set[str]:
    """Return the names of an empty engine's own functions, as its `opa.runtime` lists them."""
    found = json.loads(engine.eval_query_as_json("opa.runtime()"))
    return set(found["result"][0]["expressions"][0]["value"]["builtins"])


def _seal_files() -> None:
    """Let nothing more be opened or written but what is open."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _channel() -> tuple[BinaryIO, int]:
    """Take stdin and stdout for the lines; whatever the engine prints goes to stderr instead."""
    reader, writer = os.fdopen(os.dup(0), "rb"), os.dup(1)
    os.dup2(2, 1)
    return reader, writer


def _write(writer: int, data: bytes) -> None:
    while data:
        data = data[os.write(writer, data) :]


def main() -> int:
    """Serve until the input ends. Returns the exit code."""
    reader, writer = _channel()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * CPU_S, resource.RLIM_INFINITY))
    sealed = refuse_network()
    first = reader.readline()
    if not first:
        return 0
    bundle = json.loads(first)
    engine, faults, reads = _load(bundle)
    if faults:
        _write(writer, _line({"faults": faults[:20]}))
        return 1
    _write(writer, _line({"ready": True, "sealed": sealed, **reads}))
    session = _Session(engine, bundle["entry"])
    for line in reader:
        _write(writer, session.answer(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())
