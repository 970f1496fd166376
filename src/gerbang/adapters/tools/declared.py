"""Contracts without a body, and the functions that were written for them."""

from collections.abc import Iterable, Mapping
from typing import Any

from gerbang.errors import ContractError, ToolError
from gerbang.values import CallContext, Contract


class DeclaredTool:
    """A contract without a body: a function made with `@tool(contract=...)` goes with it."""

    blocking = False

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.pinned = False

    def __repr__(self) -> str:
        return f"<contract {self.contract.name}>"

    async def invoke(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Say that there is nothing to run. A gateway takes no such tool unless it is retired."""
        raise ToolError("This tool has no body.", code="NO_BODY", error_type="internal_error", effect="none")

    def invoke_sync(self, arguments: Mapping[str, Any], context: CallContext) -> Any:
        """Never called: the tool is not blocking."""
        raise NotImplementedError


def with_bodies(tools: Iterable[Any]) -> list[Any]:
    """Return the tools without those that are only declared and whose function is among them.

    Raises ContractError for a contract that nothing was written for, unless it is retired.
    """
    given = list(tools)
    if not any(isinstance(tool, DeclaredTool) for tool in given):
        return given
    functions = {tool.contract.name: tool for tool in given if getattr(tool, "declared", None) is not None}
    kept: list[Any] = []
    for tool in given:
        if not isinstance(tool, DeclaredTool):
            kept.append(tool)
            continue
        contract = tool.contract
        function = functions.get(contract.name)
        if function is not None and function.declared == contract.digest:
            function.pinned = function.pinned or tool.pinned
        elif function is not None or contract.retired:
            kept.append(tool)  # the catalogue refuses two definitions of one name
        else:
            raise ContractError(
                f"{contract.origin}: {contract.name} has no body: add python: or http: to the file, or write "
                f"a function with @gerbang.tool(contract=...) and give it to the gateway as well."
            )
    return kept
