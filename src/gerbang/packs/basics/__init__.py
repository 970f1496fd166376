"""The basic pack: read and list files of one folder, calculate, search a knowledge base, tell the time.

`tools` gives the set of the `local` profile and of the command line, `minimal_tools` that of `minimal`.
All of them only read or compute.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gerbang.adapters.tools.python import PythonTool
from gerbang.errors import ConfigError
from gerbang.packs.basics import english, indonesian
from gerbang.packs.basics.texts import LANGUAGES
from gerbang.packs.knowledge import Entry, Knowledge, open_knowledge
from gerbang.packs.workspace import Workspace
from gerbang.ports import Clock

__all__ = ["KnowledgeLike", "default_workspace", "minimal_tools", "tools"]

KnowledgeLike = Path | str | Mapping[str, str] | Knowledge
"""A folder of Markdown, a YAML file of `key: text`, the same as a mapping, or an opened knowledge base."""

_MODULES = {"en": english, "id": indonesian}


class _SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


def tools(
    workspace: Path | str,
    *,
    lang: str = "en",
    knowledge: KnowledgeLike | None = None,
    clock: Clock | None = None,
) -> list[PythonTool[..., Any]]:
    """Return the basic tools for one workspace folder, named and described in `lang`.

    English: `read_file`, `list_files`, `calculate`, `current_time`; Indonesian: `baca_berkas`,
    `daftar_berkas`, `hitung`, `current_time`; and `knowledge_search` when `knowledge` is given. `clock`
    is the system's unless given. Raises ConfigError when the workspace is no folder, the knowledge base
    cannot be read, or the language is not there.
    """
    module = _MODULES[_known(lang)]
    folder = Workspace(workspace)
    if not folder.root.is_dir():
        raise ConfigError(f"There is no workspace folder {workspace}. Make it, or name another one.")
    chosen = [*module.file_tools(folder), module.calculate_tool(), module.time_tool(clock or _SystemClock())]
    if knowledge is not None:
        chosen.append(module.knowledge_tool(_opened(knowledge)))
    return chosen


def minimal_tools(knowledge: KnowledgeLike | None = None, *, lang: str = "en") -> list[PythonTool[..., Any]]:
    """Return `calculator` and, when `knowledge` is given, `knowledge_search`; both take one `input`.

    Raises ConfigError as `tools` does.
    """
    module = _MODULES[_known(lang)]
    chosen: list[PythonTool[..., Any]] = module.minimal_tools(
        None if knowledge is None else _opened(knowledge)
    )
    return chosen


def default_workspace(lang: str = "en", root: Path | str = ".") -> Path:
    """Return `root/workspace` (`root/ruang-kerja` for `id`), made when it is missing. Raises ConfigError."""
    folder = Path(root) / LANGUAGES[_known(lang)].workspace
    try:
        folder.mkdir(exist_ok=True)
    except FileExistsError:
        raise ConfigError(f"{folder} is not a folder. Move it away, or name another workspace.") from None
    except OSError as error:
        raise ConfigError(
            f"The workspace {folder} cannot be made: {error.strerror}. Name another workspace."
        ) from None
    return folder


def _known(lang: str) -> str:
    if lang not in LANGUAGES:
        raise ConfigError(f"There are no texts in the language {lang!r}. Use one of: {', '.join(LANGUAGES)}.")
    return lang


def _opened(knowledge: KnowledgeLike) -> Knowledge:
    if isinstance(knowledge, Knowledge):
        return knowledge
    if isinstance(knowledge, Mapping):
        return Knowledge([Entry(key, key, text) for key, text in knowledge.items()])
    return open_knowledge(knowledge)
