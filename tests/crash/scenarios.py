"""What the processes that are killed do: a cell of the retry matrix each, or a special case."""

from typing import Any, Literal

from msgspec import Struct

import gerbang as g
from gerbang.values import RiskClass

How = Literal["key", "probe", "none"]
Person = Literal["", "agrees", "two agree", "refuses", "leaves", "agrees later", "never", "agrees too late"]

HOWS: tuple[How, ...] = ("key", "probe", "none")
READS = frozenset({RiskClass.COMPUTE, RiskClass.READ_INTERNAL, RiskClass.READ_EXTERNAL})
GRAVE = frozenset({RiskClass.EXTERNAL_COMMUNICATION, RiskClass.TRANSACTIONAL, RiskClass.DESTRUCTIVE})
ATTEMPTS = 3
"""How often a call is sent at most."""
CANCEL, FAULT = "(cancel)", "(fault)"


class Scenario(Struct, frozen=True):
    """One run. `risk`, `how` and `manner` say what the call is like that all turns on; `person` who is asked.

    `end` is the state that the run ends in; `unsure`: the target itself leaves the call in doubt.
    `script` names what the model says beyond the usual; `direct`: a caller's own loop instead of an agent.
    """

    name: str
    risk: str
    how: How = "none"
    manner: str = "ok"
    person: Person = ""
    end: str = "completed"
    unsure: bool = False
    script: str = ""
    direct: bool = False
    single: bool = False  # one call without a run of its own, and lives that only recover
    left: bool = False  # a caller's own loop that never comes back: the lives after the first only recover
    timeout_s: float = 4.0  # of the call
    steps: int | None = None  # how many answers the model may give
    client: bool = False  # the model calls a tool that the client runs
    denied: Literal["", "always", "later"] = ""  # later: when a run is gone on with
    voice: bool = False  # a profile that asks once more, without tools, when its steps are used up
    approval_s: float = 86_400.0

    @property
    def is_read(self) -> bool:
        """True when the call may be repeated freely."""
        return RiskClass(self.risk) in READS

    @property
    def path(self) -> str:
        """Where the target is asked."""
        return f"/{'keyed' if self.how == 'key' else 'plain'}/{self.manner}"

    def rules(self, resumed: bool = False) -> g.Policy:
        """Return the policy, that of a life which goes on with a run if it is one."""
        rule: dict[str, Any] = {"id": "act", "match": {"tool": "cell.act.v1"}, "reason": "TEST"}
        if self.person:
            rule |= {"decision": "ask"}
            if self.person == "two agree":
                rule |= {"obligations": ["two_person"]}
        else:
            rule |= {"decision": "allow"}
            if RiskClass(self.risk) in (RiskClass.TRANSACTIONAL, RiskClass.DESTRUCTIVE):
                rule |= {"auto": True}
        if self.denied == "always" or (self.denied and resumed):
            rule = {"id": "act", "match": {"tool": "cell.act.v1"}, "reason": "TEST", "decision": "deny"}
        other = {"id": "made", "match": {"tool": "cell.made.v1"}, "decision": "allow", "reason": "TEST"}
        page = {"id": "page", "match": {"tool": "client.*"}, "decision": "allow", "reason": "TEST"}
        return g.Policy.from_rules([rule, other, page])

    def answers(self, item: str) -> list[Any]:
        """Return what the model says, answer by answer."""
        read: tuple[str, dict[str, Any]] = ("notes.read.v1", {"name": "a"})
        act = ("cell.act.v1", {"item": item})
        alone, among = [act], [read, act, ("notes.read.v1", {"name": "b"})]
        match self.script:
            case "alone":
                return [alone, "Over."]
            case "a fault":
                return [[read], FAULT]
            case "a fault at the end":
                return [among, FAULT]
            case "cancelled":
                return [among, CANCEL]
            case "asks once, and says nothing":
                return [alone, ""]
            case "calls the client's tool":
                return [[read], [("show_page", {"page": item})]]
            case "is done in the end":
                return [among, "Over."]
            case "goes on for ever":
                return [among, [read, ("notes.read.v1", {"name": "c"})]]
            case _:
                return [[read], among, "Over."]


def _cells() -> list[Scenario]:
    """Return the cells of the matrix. A read has no probe: its contract would be refused."""
    return [
        Scenario(f"{risk}/{how}", risk.value, how)
        for risk in RiskClass
        for how in HOWS
        if how != "probe" or risk not in READS
    ]


CELLS = _cells()
_MAIL, _WRITE = "external_communication", "write_external"
SPECIAL = [
    Scenario("a person agrees", _MAIL, person="agrees"),
    Scenario("two people agree", "destructive", person="two agree"),
    Scenario("a person refuses", _MAIL, person="refuses"),
    Scenario("a person agrees later", "transactional", "probe", person="agrees later"),
    Scenario("nobody answers", _MAIL, person="never", approval_s=0.5),
    Scenario("a grant is used too late", _MAIL, person="agrees too late", approval_s=0.8),
    Scenario("cancelled while a person thinks", _MAIL, person="leaves", end="cancelled"),
    Scenario("turned away", _WRITE, manner="refused"),
    Scenario("busy at first", _WRITE, "key", manner="busy"),
    Scenario("broken before the effect, a key", _WRITE, "key", manner="lost"),
    Scenario("broken before the effect, a probe", "transactional", "probe", manner="lost", unsure=True),
    Scenario("broken after the effect, a key", _MAIL, "key", manner="made"),
    Scenario("broken after the effect, a probe", _WRITE, "probe", manner="made", unsure=True),
    Scenario("broken after the effect, nothing", _WRITE, manner="made", unsure=True),
    Scenario("slow, a probe", _MAIL, "probe", manner="slow"),
    Scenario("slow, a key", "destructive", "key", manner="slow"),
    Scenario("a caller's own loop, slow, a probe", "transactional", "probe", "slow", direct=True, end="open"),
    Scenario("one call an answer", "write_internal", script="alone"),
    Scenario("the model fails", _WRITE, script="a fault", end="model_error"),
    Scenario(
        "the model fails in the end", _WRITE, script="a fault at the end", end="model_error", voice=True
    ),
    Scenario("cancelled while the model answers", _WRITE, script="cancelled", end="cancelled"),
    Scenario("cancelled in the end", _WRITE, script="cancelled", end="cancelled", voice=True),
    Scenario("out of steps", _WRITE, script="goes on for ever", end="max_steps", voice=True),
    Scenario("out of steps, and done", _WRITE, script="is done in the end", voice=True),
    Scenario("out of answers", _WRITE, script="goes on for ever", end="max_steps", steps=2),
    Scenario("all is refused", _WRITE, script="asks once, and says nothing", end="denied", denied="always"),
    Scenario("a client's tool", _WRITE, script="calls the client's tool", end="client_calls", client=True),
    Scenario("denied when it is gone on with", _MAIL, denied="later"),
    Scenario("denied when it is gone on with, a probe", _MAIL, "probe", denied="later"),
    Scenario("one call, recovered", "transactional", "probe", single=True, direct=True),
    Scenario("slower than twice its time-out, a probe", _MAIL, "probe", "slow", unsure=True, timeout_s=1.1),
    Scenario("a caller never comes back, a probe", _MAIL, "probe", direct=True, left=True, end="open"),
    Scenario("a caller never comes back", "transactional", direct=True, left=True, end="open"),
    Scenario("a caller's own loop", _WRITE, "probe", direct=True, end="open"),
    Scenario("a caller's own loop, a key", _MAIL, "key", direct=True, end="open"),
    Scenario("a caller's own loop, a person", _MAIL, person="agrees", direct=True, end="open"),
]
ALL = {one.name: one for one in (*CELLS, *SPECIAL)}
