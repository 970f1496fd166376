"""A grant: made in one place, for what was decided, used once, never changed, copied or stored."""

import ast
import copy
import pickle
from pathlib import Path

import pytest

import gerbang
from gerbang.approval.grant import AuthorisedCall, authorise
from gerbang.contract.build import make_contract
from gerbang.values import LOCAL, CallContext, Decision, Proposal, ValidCall, Verdict

CONTRACT = make_contract(name="a.v1", risk="destructive", description="x", parameters={})
CALL = ValidCall(Proposal("r", 1, 0, "c", "a.v1", {}), CONTRACT, {}, b"{}")
CONTEXT = CallContext(LOCAL, "r", 1, "c", "k")


def decided(verdict: Verdict) -> Decision:
    return Decision(verdict, ("X",), None, "v")


def grant(verdict: Verdict, approved: str | None = None, binding: str | None = None) -> AuthorisedCall | None:
    return authorise(CALL, decided(verdict), CONTEXT, approved_binding=approved, binding=binding, attempt=2)


@pytest.mark.parametrize(
    ("verdict", "approved", "binding", "opens"),
    [
        ("allow", None, None, True),
        ("allow", "x", "y", True),
        ("ask", "b", "b", True),
        ("ask", "b", "c", False),
        ("ask", None, "b", False),
        ("ask", "b", None, False),
        ("ask", None, None, False),
        ("ask", "", "", False),
        ("deny", None, None, False),
        ("deny", "b", "b", False),
    ],
)
def test_what_opens(verdict: Verdict, approved: str | None, binding: str | None, opens: bool) -> None:
    assert (grant(verdict, approved, binding) is not None) is opens


def given() -> AuthorisedCall:
    made = grant("allow")
    assert made is not None
    return made


def test_a_grant_is_used_once() -> None:
    made = given()
    assert [made.spend(), made.spend(), made.spend()] == [True, False, False]
    assert (made.call, made.context, made.attempt, made.decision.decision) == (CALL, CONTEXT, 2, "allow")


def test_nobody_else_makes_one() -> None:
    for seal in (None, object(), "seal", True):
        with pytest.raises(PermissionError, match=r"made by gerbang\.approval\.grant\.authorise only"):
            AuthorisedCall(seal, CALL, decided("allow"), CONTEXT, 1)
    with pytest.raises(TypeError, match="no subclasses"):
        type("Forged", (AuthorisedCall,), {})


def test_a_grant_is_not_copied_or_stored() -> None:
    made = given()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps, lambda g: pickle.dumps(g, 0)):
        with pytest.raises(TypeError, match="cannot be copied or stored"):
            attempt(made)


@pytest.mark.parametrize("name", ["call", "decision", "context", "attempt", "_spent", "more"])
def test_a_grant_is_not_changed(name: str) -> None:
    made = given()
    made.spend()
    with pytest.raises(AttributeError, match="cannot be changed"):
        setattr(made, name, False)
    with pytest.raises(AttributeError):
        delattr(made, name)
    assert made.spend() is False


def names_in(path: Path) -> set[tuple[str, str]]:
    """Return (kind, name) of every call, attribute and import of a module that has to do with grants."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            target = node.func
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            found.add(("call", name))
        elif isinstance(node, ast.Attribute):
            found.add(("attribute", node.attr))
        elif isinstance(node, ast.Name):
            found.add(("name", node.id))
        elif isinstance(node, ast.ImportFrom):
            found.update(("import", alias.name) for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(("text", node.value))
    return found


def test_one_module_makes_grants_and_one_spends_them() -> None:
    root = Path(gerbang.__file__).parent
    seen = {str(path.relative_to(root)): names_in(path) for path in root.rglob("*.py")}
    assert len(seen) > 50

    def having(*wanted: tuple[str, str]) -> set[str]:
        return {path for path, names in seen.items() if names & set(wanted)}

    seals = [(kind, "_SEAL") for kind in ("name", "attribute", "import", "text")]
    assert having(("call", "AuthorisedCall")) == {"approval/grant.py"}
    assert having(*seals) == {"approval/grant.py"}
    assert having(("call", "spend"), ("attribute", "spend"), ("text", "spend")) == {"runtime/executor.py"}
    makers = {"runtime/gate.py", "runtime/lost.py"}
    assert having(("call", "authorise")) <= makers
    # what runs a tool's body is the executor, and the tools themselves
    runs = having(("call", "invoke"), ("call", "invoke_sync"))
    assert {path for path in runs if not path.startswith(("adapters/tools/", "packs/"))} == {
        "runtime/executor.py",
        "runtime/guarded.py",  # a wrapper round tools that need secrets; only the executor calls it
    }
