"""The small promises of the values: classes in order, principals, wire forms."""

import pytest
from msgspec import UNSET

from gerbang.values import LOCAL, READS, CallError, Decision, InvalidField, Principal, RiskClass

ORDER = [
    "compute",
    "read_internal",
    "read_external",
    "draft",
    "write_internal",
    "write_external",
    "external_communication",
    "code_execution",
    "transactional",
    "destructive",
]


def test_classes_are_ordered_by_blast_radius() -> None:
    assert list(RiskClass) == ORDER
    assert [risk.rank for risk in RiskClass] == list(range(10))


def test_only_three_classes_are_reads() -> None:
    assert {risk for risk in RiskClass if risk.is_read} == READS
    assert {str(risk) for risk in READS} == {"compute", "read_internal", "read_external"}


def test_a_principal_takes_any_collection_and_no_bare_text() -> None:
    for scopes in (["a", "b"], ("a", "b"), {"a", "b"}, frozenset({"a", "b"})):
        assert Principal("ana", scopes=scopes).scopes == frozenset({"a", "b"})
    with pytest.raises(TypeError, match=r"write \{'weather'\}"):
        Principal("ana", scopes="weather")
    with pytest.raises(TypeError, match="roles"):
        Principal("ana", roles="admin")
    assert (LOCAL.user, LOCAL.tenant, LOCAL.scopes) == ("local", "local", frozenset())


def test_a_principal_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        LOCAL.user = "root"  # type: ignore[misc]


def test_an_error_in_its_wire_form() -> None:
    error = CallError(
        "validation_error",
        "MISSING_FIELD",
        "No.",
        recoverable=True,
        invalid_fields=(InvalidField("/a", "MISSING_FIELD", "This field is required."),),
    )
    assert error.as_dict() == {
        "status": "error",
        "error_type": "validation_error",
        "error_code": "MISSING_FIELD",
        "message": "No.",
        "recoverable": True,
        "effect": "none",
        "suggested_fix": "",
        "invalid_fields": ({"path": "/a", "code": "MISSING_FIELD", "message": "This field is required."},),
    }
    assert error.retry_after_ms is UNSET
    full = CallError("unknown_tool", "TOOL_UNKNOWN", "x", available=("a",), retry_after_ms=5).as_dict()
    assert (full["available"], full["retry_after_ms"]) == (("a",), 5)


def test_a_decision_in_its_wire_form() -> None:
    decision = Decision("ask", ("A", "B"), "r", "v", ("log",))
    assert decision.as_dict() == {
        "decision": "ask",
        "reasons": ["A", "B"],
        "rule": "r",
        "policy_version": "v",
        "obligations": ["log"],
    }
