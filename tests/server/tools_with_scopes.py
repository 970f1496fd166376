"""A tool that needs a scope; given to the server under test with --python."""

import gerbang as g


@g.tool(name="vault.read.v1", risk="read_internal", scopes=["vault"])
async def read_vault() -> str:
    """Read what only few may."""
    return "the combination"


TOOLS = [read_vault]
