"""Compares what is on record with what happened, after a run that died any number of times."""

from collections import Counter
from pathlib import Path

import msgspec

from gerbang.audit.chain import verify
from gerbang.ports import Store
from gerbang.runtime.kept import read_answer
from gerbang.values.record import CallRow, CallState, EventRow

from .points import Line
from .scenarios import GRAVE, Scenario
from .target import Effect

ENDS = frozenset({"call.finished", "call.refused", "call.replayed", "call.lost"})
"""Events that end a proposal. `call.resolved` adds what was found out later about one that was lost."""
_GOOD = frozenset({CallState.SUCCEEDED, CallState.RESOLVED_SUCCEEDED})
_OPEN = frozenset({"DISPATCHED"})


def lines_of(path: Path) -> list[Line]:
    """Return the trace of a run."""
    return msgspec.json.Decoder(Line).decode_lines(path.read_bytes()) if path.exists() else []


def in_flight(lines: list[Line]) -> set[str]:
    """Return the calls during which a life ended: its intent was on its way to disk, no outcome was there."""
    lost: set[str] = set()
    for life in {line.life for line in lines}:
        flying: set[str] = set()
        for line in (one for one in lines if one.life == life):
            for key, state in line.keys.items():
                if line.what == "begin" and state in _OPEN:
                    flying.add(key)
                elif line.what == "stopped" or (line.what == "done" and state not in _OPEN):
                    flying.discard(key)
        lost |= flying
    return lost


async def judge(
    store: Store, scenario: Scenario, run_id: str, lines: list[Line], effects: list[Effect]
) -> list[str]:
    """Return what is wrong; nothing is what it should be."""
    wrong: list[str] = []
    row = await store.run(run_id)
    if row is None and (scenario.single or scenario.left) and not any(line.what == "done" for line in lines):
        return ["an effect, and nothing on record"] if effects else []  # it died in its first commit
    state = "missing" if row is None else row.state
    if state != scenario.end and not (scenario.single and state == "cancelled"):
        wrong.append(f"the run is {state}, not {scenario.end}")
    events = [event async for event in store.stream(run_id)]
    if verify(events) is not None:
        wrong.append("the chain does not verify")
    kinds = [event.kind for event in events]
    for line in lines:  # what was acknowledged is there
        if line.what == "done" and line.kinds and line.run_id == run_id:
            first = line.seq - len(line.kinds)
            if tuple(kinds[first : line.seq]) != line.kinds:
                wrong.append(f"events {first + 1} to {line.seq} are not {line.kinds}")
    wrong += await _proposals(store, scenario, run_id, events, lines)
    unsure = in_flight(lines)
    told = {key for line in lines for key, after in line.keys.items() if after == CallState.SUCCEEDED}
    by_item = Counter(effect.item for effect in effects if effect.happened)
    for call in await store.calls(run_id):
        if call.tool == "cell.act.v1":
            wrong += _call(scenario, call, by_item, call.key in unsure, call.key in told)
        elif call.state != CallState.SUCCEEDED and scenario.end != "cancelled" and not _excused(call):
            wrong.append(f"the read {call.call_id} is {call.state}")
    return wrong


def _call(scenario: Scenario, call: CallRow, by_item: Counter[str], unsure: bool, told: bool) -> list[str]:
    """Return what is wrong with the call that all turned on."""
    wrong: list[str] = []
    item = str(msgspec.json.decode(call.arguments)["item"])
    effects, what = by_item[item], f"{call.call_id} is {call.state}"
    if effects > 1 and not scenario.is_read:
        wrong.append(f"{what}: {effects} effects")
    if call.state in _GOOD and effects == 0:
        wrong.append(f"{what}, and nothing happened")
    if call.state in ("FAILED", "RESOLVED_FAILED", "CANCELLED", "REFUSED", "PLANNED") and effects:
        wrong.append(f"{what}, and it happened")
    if call.state in ("PLANNED", "DISPATCHED"):
        wrong.append(f"{what} after the end of its run")
    if call.state == "UNCERTAIN":
        timed_out = b"TOOL_TIMEOUT" in call.result  # a busy machine
        if not (unsure or timed_out or scenario.unsure or scenario.end == "cancelled"):
            wrong.append(f"{what}, and nothing was in flight when a process ended")
        out_of_time = timed_out and scenario.how == "key"  # it is sent again within its time only
        if (scenario.how != "none" or scenario.is_read) and not out_of_time:
            wrong.append(f"{what}, and it could have been found out or repeated")
    elif call.state in _GOOD and scenario.how == "none" and not scenario.is_read and not told:
        wrong.append(f"{what}, and nobody can know that")
    return wrong


def _excused(call: CallRow) -> bool:
    """Tell whether a read failed for a good reason: a busy machine, on which a process came too late to use
    its lease and so sent nothing; a probe whose process did not live to hear the answer.
    """
    asked = call.call_id.startswith("probe_")
    return call.state == CallState.FAILED and (asked or b"RUN_TAKEN_OVER" in call.result)


async def _proposals(
    store: Store, scenario: Scenario, run_id: str, events: list[EventRow], lines: list[Line]
) -> list[str]:
    """Return what is wrong with the records and the results of what the model proposed."""
    wrong: list[str] = []
    proposed: list[str] = []
    for answer in (await store.answers(run_id))[1:]:
        kept = read_answer(answer.message)
        proposed += [] if kept is None else [call.id for call in kept.message.tool_calls]
    if scenario.direct:
        proposed = [call.call_id for call in await store.calls(run_id)]
    bodies = [msgspec.json.decode(event.body) | {"kind": event.kind} for event in events]
    ends = Counter(body["call_id"] for body in bodies if body["kind"] in ENDS)
    resolved = Counter(body["call_id"] for body in bodies if body["kind"] == "call.resolved")
    for call_id in proposed:
        if scenario.direct:
            continue
        # found not to have happened, it is made again: each time with a record of its own
        if not 1 <= ends[call_id] <= 1 + resolved[call_id]:
            wrong.append(f"{call_id} has {ends[call_id]} terminal records")
        if resolved[call_id] > ends[call_id]:
            wrong.append(f"{call_id} was resolved {resolved[call_id]} times")
    last = [line.told for line in lines if line.what == "told"][-1:]
    for call_id, count in (last[0] if last else {}).items():
        if count != 1:
            wrong.append(f"the model was told {count} results of {call_id}")
    for body in bodies:
        grave = scenario.risk in GRAVE and scenario.how == "none"
        if body["kind"] == "call.lost" and grave and "NEEDS_A_PERSON" not in body.get("reasons", ()):
            wrong.append("a grave call was lost, and nobody is to look at it")
    return wrong
