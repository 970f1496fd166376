"""What policy sees of a tool: the part of its contract that a decision may depend on, worked out once."""

import re
from typing import Any, Final

from msgspec import Struct

from gerbang.values.contract import Contract

_VERSION: Final = re.compile(r"v([0-9]+)")
UNAPPROVED: Final = "unapproved"
"""The place of a definition that was sent, and that nobody who may define tools stands for."""


class ToolFacts(Struct, frozen=True, gc=False):
    """A tool as the policy document shows it. Made once for each contract (`tool_facts`).

    `version` is the last segment of the name, such as `v1`; empty for tools without one. `side_effects` is
    None when the contract declares none. `resources` are the kinds of things that the tool works on.
    `risk_facts` are those that the contract declares of all its calls. `requires_approval` says that the
    contract asks for a person whatever rules allow. `control` are the arguments that
    steer the effect. `defined_by` says what kind of place the definition is
    from, such as `file`, as the runtime knows it. `keys` are what the history counts calls of it under.
    """

    name: str
    risk_class: str
    version: str = ""
    group: str = ""
    side_effects: dict[str, Any] | None = None
    resources: tuple[str, ...] = ()
    data_class: str | None = None
    owner: str = ""
    origin: str = ""
    defined_by: str = ""
    deprecated: bool = False
    risk_facts: tuple[str, ...] = ()
    requires_approval: bool = False
    control: tuple[str, ...] = ()
    contract: str = ""
    keys: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the form that the policy document shows."""
        return {
            "name": self.name,
            "version": self.version,
            "risk_class": self.risk_class,
            "group": self.group,
            "side_effects": self.side_effects,
            "resources": list(self.resources),
            "data_class": self.data_class,
            "owner": self.owner,
            "origin": self.origin,
            "defined_by": self.defined_by,
            "deprecated": self.deprecated,
            "risk_facts": list(self.risk_facts),
            "requires_approval": self.requires_approval,
            "control": list(self.control),
            "contract": self.contract,
        }


def make_tool_facts(name: str, risk_class: str, **known: Any) -> ToolFacts:
    """Return the facts of a tool from its name, its class and whatever else is known, keys included."""
    segments = name.split(".")
    known.setdefault(
        "version", segments[-1] if len(segments) > 1 and _VERSION.fullmatch(segments[-1]) else ""
    )
    group, effects = known.get("group", ""), known.get("side_effects")
    keys = [f"tool:{name}", f"class:{risk_class}"]
    keys += [f"under:{'.'.join(segments[:end])}" for end in range(1, len(segments))]
    if group:
        keys.append(f"group:{group}")
    if effects is not None:
        keys.append(f"effect:{effects['kind']}")
    if known.get("data_class"):
        keys.append(f"data:{known['data_class']}")
    keys += [f"resource:{kind}" for kind in known.get("resources", ())]
    return ToolFacts(name, risk_class, keys=tuple(keys), **known)


def tool_facts(contract: Contract, defined_by: str = "code") -> ToolFacts:
    """Return what policy sees of a contract. `defined_by` is what the runtime knows of its place: `code`,
    `file`, `request`, `unapproved`, `mcp` and so on; never what the definition says of itself.
    """
    effects = contract.side_effects
    touched = {ref.kind for ref in contract.resources.values()}
    declared: list[str] = list(contract.facts)
    if effects is not None:
        touched.update(effects.resources)
        if effects.reversible == "no" and "irreversible" not in declared:
            declared.append("irreversible")
    return make_tool_facts(
        contract.name,
        str(contract.risk),
        group=contract.group,
        side_effects=None
        if effects is None
        else {
            "kind": effects.kind,
            "resources": list(effects.resources),
            "reversible": effects.reversible,
            "compensating_action": effects.compensating_action,
            "idempotency_required": effects.idempotency_required,
        },
        resources=tuple(sorted(touched)),
        data_class=contract.data_class,
        owner=contract.owner,
        origin=contract.origin,
        defined_by=defined_by,
        deprecated=contract.deprecated,
        risk_facts=tuple(declared),
        requires_approval=effects is not None and effects.default_requires_approval,
        control=tuple(sorted(contract.control)),
        contract=contract.digest,
    )
