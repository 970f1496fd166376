"""Canonical tool names to the letters that servers accept, for the calls of earlier answers."""

import re
from collections.abc import Sequence
from typing import Final

from gerbang.limits import WIRE_NAME_MAX
from gerbang.values.model import ToolSpec

_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]")


class WireNames:
    """The names of one request. What names none of its tools has its other letters replaced."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._names = {tool.name: tool.wire_name for tool in tools}

    def __getitem__(self, name: str) -> str:
        return self._names.get(name) or _OTHER.sub("_", name)[:WIRE_NAME_MAX] or "unnamed"
