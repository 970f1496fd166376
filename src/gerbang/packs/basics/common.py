"""What the contracts of the basic tools have in common, in both languages."""

from typing import Any, Final, TypedDict


class Common(TypedDict):
    """Fields of a contract that do not depend on its words."""

    owner: str
    returns: dict[str, Any]
    error_categories: tuple[str, ...]
    annotations: dict[str, Any]


_NAME: Final = "The name is fixed by the protocol that the tool belongs to."
_ALLOWED: Final = {"unversioned-name": _NAME, "name-without-domain": _NAME}
_INPUT: Final = {"data-argument": "The router protocol gives every tool one 'input'."}

_TEXT: Final[dict[str, Any]] = {"type": "string"}
_NUMBER: Final[dict[str, Any]] = {
    "type": ["number", "string"]
}  # as text beyond the whole numbers that JSON keeps


def _fields(errors: tuple[str, ...], returns: dict[str, Any], more: dict[str, str]) -> Common:
    return {
        "owner": "gerbang",
        "returns": returns,
        "error_categories": errors,
        "annotations": {"lint_allow": {**_ALLOWED, **more}},
    }


FILES: Final = _fields(
    ("validation_error", "semantic_error", "permission_denied", "conflict", "upstream_error"), _TEXT, {}
)
SUMS: Final = _fields(("validation_error", "semantic_error"), _NUMBER, {})
KNOWLEDGE: Final = _fields(("semantic_error",), _TEXT, {})
TIME: Final = _fields(("validation_error",), _TEXT, {})
ROUTED_SUMS: Final = _fields(("validation_error", "semantic_error"), _NUMBER, _INPUT)
ROUTED_KNOWLEDGE: Final = _fields(("semantic_error",), _TEXT, _INPUT)
