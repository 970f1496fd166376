"""The document that every kind of policy sees."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from gerbang.policy.history import NO_HISTORY, History
from gerbang.policy.tool_facts import ToolFacts, make_tool_facts
from gerbang.values import Principal, RiskClass, StepId

INPUT_VERSION: Final = 1

RISK_FACTS: Final = (
    "irreversible",
    "production",
    "customer_impact",
    "money",
    "identity",
    "access",
    "legal_record",
    "outside_hours",
    "repaired_arguments",
    "model_claim",
    "unknown_origin",
)
"""The risk facts that there are. The first seven may be declared by contracts; the runtime adds the rest."""

Provenance = Literal["user", "trusted", "bound", "equal", "contained", "derived", "unexplained"]
PROVENANCES: Final = ("user", "trusted", "bound", "equal", "contained", "derived", "unexplained")
"""Where the value of an argument came from: named by the user, from trusted data, bound to an object that
the user named, equal to, contained in or derived from a result, or not explained by anything."""


class ResourceFacts(Struct, frozen=True, gc=False):
    """A thing that the call names. `tenant` is whose it is, None when nobody could tell."""

    kind: str
    id: str
    tenant: str | None = None
    argument: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the form that the policy document shows."""
        return {"kind": self.kind, "id": self.id, "tenant": self.tenant, "argument": self.argument}


class BudgetFacts(Struct, frozen=True, gc=False):
    """What the run has used and may still use. None: there is no limit. `cost` is cost units."""

    calls: int = 0
    calls_left: int | None = None
    cost: float = 0.0
    cost_left: float | None = None
    tokens: int = 0
    tokens_left: int | None = None
    seconds_left: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the form that the policy document shows."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


class ArgumentTaint(Struct, frozen=True, gc=False):
    """Where an argument's value came from. `sources` are tool names; `control` that it steers the effect."""

    provenance: Provenance
    sources: tuple[str, ...] = ()
    trust_level: str | None = None
    control: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return the form that the policy document shows."""
        return {
            "provenance": self.provenance,
            "sources": list(self.sources),
            "trust_level": self.trust_level,
            "control": self.control,
        }


NO_BUDGET: Final = BudgetFacts()
_NOTHING: Final[dict[str, Any]] = {}


class PolicyInput(Struct, frozen=True, gc=False):
    """Facts about one call. `arguments` have passed their schema.

    `info` is what the contract says (`gerbang.policy.tool_facts.tool_facts`, made once for each contract);
    None shows the name and the class alone. `resources` are things that the call names. `facts` are what
    named resolvers found, `risk_facts` the facts of RISK_FACTS that hold, each with `true` or what it says
    (`model_claim: high`). `history` and `budget` are the run's; `taint` tells of arguments by name where
    their values came from.

    `calls_before` counts earlier calls of the run, `calls_of_tool` those of the same tool. `repaired`
    tells that the reader mended the call's text, `coerced` that a value's type was changed.
    `tainted_run` tells that the run has read something from outside. `time` is seconds since the epoch.
    """

    tool: str
    risk: RiskClass
    arguments: Mapping[str, Any]
    actor: Principal
    purpose: str | None = None
    intent: str | None = None
    run_id: str = ""
    repaired: bool = False
    coerced: bool = False
    tainted_run: bool = False
    calls_before: int = 0
    calls_of_tool: int = 0
    time: float = 0.0
    step: StepId = ""
    info: ToolFacts | None = None
    resources: tuple[ResourceFacts, ...] = ()
    facts: Mapping[str, Any] = _NOTHING
    risk_facts: Mapping[str, Any] = _NOTHING
    history: History = NO_HISTORY
    budget: BudgetFacts = NO_BUDGET
    taint: Mapping[str, ArgumentTaint] = _NOTHING

    @property
    def tool_facts(self) -> ToolFacts:
        """What is known of the tool: `info`, or its name and class."""
        return self.info or make_tool_facts(self.tool, str(self.risk))

    def document(self) -> dict[str, Any]:
        """Return the whole document as JSON values: what Rego sees, and what cases are written in.

        Its form is `input.schema.json` beside this module. Arguments, facts and side effects are not
        copied. Made on demand: rules never need it.
        """
        document = self.record()
        document["arguments"] = self.arguments
        document["history"] = self.history.as_dict()
        return document

    def record(self) -> dict[str, Any]:
        """Return what has to be kept of this document for a replay: all but arguments and past calls.

        The arguments lie in the call's row, and past calls are the run's earlier records.
        """
        actor = self.actor
        return {
            "input_version": INPUT_VERSION,
            "tool": self.tool_facts.as_dict(),
            "actor": {
                "user": actor.user,
                "tenant": actor.tenant,
                "roles": sorted(actor.roles),
                "scopes": sorted(actor.scopes),
                "agent": actor.agent,
            },
            "purpose": self.purpose,
            "intent": self.intent,
            "resource": self.resources[0].as_dict() if self.resources else None,
            "resources": [resource.as_dict() for resource in self.resources],
            "facts": dict(self.facts),
            "risk_facts": dict(self.risk_facts),
            "run": {"id": self.run_id, "step": str(self.step)},
            "budget": self.budget.as_dict()
            | {"calls": self.calls_before or self.budget.calls, "calls_of_tool": self.calls_of_tool},
            "taint": {
                "run": self.tainted_run,
                "by_argument": {name: taint.as_dict() for name, taint in self.taint.items()},
            },
            "time": self.time,
            "repaired": self.repaired,
            "coerced": self.coerced,
        }
