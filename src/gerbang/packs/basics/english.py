"""The basic tools in English: `read_file`, `list_files`, `calculate`, `knowledge_search`, `current_time`."""

from typing import Annotated, Any

from msgspec import Meta

from gerbang.adapters.tools.python import PythonTool, tool
from gerbang.packs.arithmetic import MAX_CHARS
from gerbang.packs.basics import actions, common
from gerbang.packs.basics.texts import ENGLISH
from gerbang.packs.knowledge import MAX_QUERY_CHARS, Knowledge
from gerbang.packs.workspace import MAX_PATH_CHARS, Workspace
from gerbang.ports import Clock

_Path = Annotated[str, Meta(min_length=1, max_length=MAX_PATH_CHARS)]
_Folder = Annotated[str, Meta(max_length=MAX_PATH_CHARS)]
_Sum = Annotated[str, Meta(min_length=1, max_length=MAX_CHARS)]
_Query = Annotated[str, Meta(min_length=1, max_length=MAX_QUERY_CHARS)]
_Zone = Annotated[str, Meta(min_length=1, max_length=64)]


def file_tools(workspace: Workspace) -> list[PythonTool[..., Any]]:
    """Return `read_file` and `list_files` for a workspace."""

    @tool(name="read_file", risk="read_internal", timeout_s=10, **common.FILES)
    def read_file(path: _Path) -> str:
        """Read a text file of the workspace.

        Use this whenever the user names a file. Not for folders: list_files does that. Changes nothing.
        Returns the first 8000 characters of the file.

        Args:
            path: Path of the file inside the workspace, such as notes.txt.
        """
        return actions.read_text(workspace, path, ENGLISH)

    @tool(name="list_files", risk="read_internal", timeout_s=10, **common.FILES)
    def list_files(folder: _Folder = "") -> str:
        """List the files of the workspace or of one folder in it.

        Use this whenever the user asks which files there are. Not for their content: read_file does that.
        Changes nothing. Returns one path a line, sorted, at most 200; a folder ends with a slash.

        Args:
            folder: A folder inside the workspace. Leave it out for the workspace itself.
        """
        return actions.list_folder(workspace, folder, ENGLISH)

    return [read_file, list_files]


def calculate_tool() -> PythonTool[..., Any]:
    """Return `calculate`."""

    @tool(name="calculate", risk="compute", timeout_s=5, **common.SUMS)
    async def calculate(expression: _Sum) -> int | float | str:
        """Work out an arithmetic expression exactly.

        Use this for every calculation, even an easy one. Not for words, units or equations. Changes
        nothing. Returns the number.

        Args:
            expression: Numbers with + - * / // % ** and parentheses, such as 25 * 4 + 10.
        """
        return actions.calculate(expression, ENGLISH)

    return calculate


def knowledge_tool(knowledge: Knowledge) -> PythonTool[..., Any]:
    """Return `knowledge_search` over a knowledge base."""

    @tool(name="knowledge_search", risk="read_internal", timeout_s=10, **common.KNOWLEDGE)
    async def knowledge_search(query: _Query) -> str:
        """Search the knowledge base.

        Use this before answering from memory about facts, rules or products. Not for files of the
        workspace: read_file does that. Changes nothing. Returns up to three passages with their sources.

        Args:
            query: The words to look for, such as refund period.
        """
        return actions.search(knowledge, query, ENGLISH)

    return knowledge_search


def time_tool(clock: Clock) -> PythonTool[..., Any]:
    """Return `current_time`."""

    @tool(name="current_time", risk="compute", timeout_s=5, **common.TIME)
    def current_time(zone: _Zone | None = None) -> str:
        """Tell the current date and time.

        Use this for every question about now or today. Not for other days. Changes nothing. Returns
        weekday, date, time and offset from UTC.

        Args:
            zone: IANA time zone such as Asia/Jakarta. Leave it out for local time.
        """
        return actions.current_time(clock, zone, ENGLISH)

    return current_time


def minimal_tools(knowledge: Knowledge | None) -> list[PythonTool[..., Any]]:
    """Return `calculator` and `knowledge_search`, whose one parameter is `input`."""

    @tool(name="calculator", risk="compute", timeout_s=5, **common.ROUTED_SUMS)
    async def calculator(input: _Sum) -> int | float | str:  # noqa: A002  # the protocol's own word
        """Work out an arithmetic expression exactly.

        Use this for every calculation, even an easy one. Not for words, units or equations. Changes
        nothing. Returns the number.

        Args:
            input: Numbers with + - * / // % ** and parentheses, such as 25 * 4 + 10.
        """
        return actions.calculate(input, ENGLISH)

    if knowledge is None:
        return [calculator]

    @tool(name="knowledge_search", risk="read_internal", timeout_s=10, **common.ROUTED_KNOWLEDGE)
    async def knowledge_search(input: _Query) -> str:  # noqa: A002  # the protocol's own word
        """Search the knowledge base.

        Use this before answering from memory about facts, rules or products. Not for calculations.
        Changes nothing. Returns up to three passages with their sources.

        Args:
            input: The words to look for, such as refund period.
        """
        return actions.search(knowledge, input, ENGLISH)

    return [calculator, knowledge_search]
