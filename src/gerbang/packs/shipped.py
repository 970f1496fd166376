"""Every tool that Gerbang ships, in the sets that go into one gateway: for the linter and for tests."""

from pathlib import Path
from typing import Any

from gerbang.adapters.tools.python import PythonTool
from gerbang.packs import basics, sample

_FOLDER = Path(sample.__file__).parent / "en"
_KNOWLEDGE = {"sample": "One entry, so that the search tool is there."}


def shipped_packs() -> dict[str, list[PythonTool[..., Any]]]:
    """Return the packs by name, each in each language. Nothing of them is run."""
    packs: dict[str, list[PythonTool[..., Any]]] = {}
    for lang in ("en", "id"):
        packs[f"basics ({lang})"] = basics.tools(_FOLDER, lang=lang, knowledge=_KNOWLEDGE)
        packs[f"minimal ({lang})"] = basics.minimal_tools(_KNOWLEDGE, lang=lang)
    return packs
