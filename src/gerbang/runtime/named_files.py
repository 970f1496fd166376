"""The files that a call names, and what they hold: an approval of the call is tied to it."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from gerbang.approval.terms import read_terms
from gerbang.ports import FileReader, UnreadableFile
from gerbang.runtime.verdict import Verdict
from gerbang.values import ValidCall

FilesHook = Callable[[Mapping[str, Any]], Iterable[Any]]
"""Of a tool: the paths that a call with these arguments reads or changes."""
FILE: Final = "file"
"""The kind of resource that is a file."""
_MOST: Final = 64


class NamedFiles:
    """Looks files up. `hooks` are those of tools, by name; their paths are the tools' own to answer for."""

    def __init__(self, reader: FileReader | None, hooks: Mapping[str, FilesHook]) -> None:
        self._reader = reader
        self._hooks = hooks

    async def of(self, call: ValidCall) -> dict[str, str]:
        """Return the digests of the files that a call names, by name. Raises UnreadableFile."""
        named = dict(self._named(call))
        if not named:
            return {}
        if len(named) > _MOST or self._reader is None:
            raise UnreadableFile(next(iter(named))[:200])
        return await self._reader.digests(named)

    async def still(self, call: ValidCall, verdict: Verdict | None) -> bool:
        """Tell whether the files of a call hold what they held when it was approved, if it was."""
        if verdict is None or verdict.approval is None:
            return True
        terms = read_terms(verdict.approval.terms)
        if terms is None:
            return False
        try:
            return await self.of(call) == terms.files
        except UnreadableFile:
            return False

    def _named(self, call: ValidCall) -> Iterable[tuple[str, str]]:
        for argument, ref in call.contract.resources.items():
            value = call.arguments.get(argument)
            for name in value if isinstance(value, list) else (value,):
                if ref.kind == FILE and name is not None:
                    yield str(name), str(name)
        hook = self._hooks.get(call.contract.name)
        if hook is None:
            return
        try:
            paths = [str(path) for path in hook(dict(call.arguments))]
        except KeyboardInterrupt:
            raise
        except BaseException:  # a hook that fails, whatever it raises, leaves us without the names
            raise UnreadableFile("") from None
        for path in paths:  # named apart from what a model wrote: the reader trusts a tool's own paths
            yield f"{call.contract.name}: {path}", path
