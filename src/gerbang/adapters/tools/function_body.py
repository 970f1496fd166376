"""Functions that a contract file names: `package.module:function`."""

import importlib
import re
from collections.abc import Callable
from typing import Any, Final

from gerbang.adapters.tools.python import PythonTool
from gerbang.errors import ContractError

_NAME: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*", re.ASCII)


def named_function(name: str, where: str) -> Callable[..., Any]:
    """Import the module and return the function. Of a tool, its plain function.

    Raises ContractError when the module cannot be imported or has no such function.
    """
    if not _NAME.fullmatch(name):
        raise ContractError(f"{where}: python: {name[:80]!r} is not of the form package.module:function.")
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ContractError(
            f"{where}: python: there is no module {error.name or module}. Is its package installed, or its "
            "folder on the Python path?"
        ) from None
    except Exception as error:  # a module may raise anything while it is imported; the file is at fault
        raise ContractError(
            f"{where}: python: the module {module} cannot be imported: {type(error).__name__}: "
            f"{str(error)[:200]}"
        ) from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise ContractError(f"{where}: python: the module {module} has no {path}.")
        found = getattr(found, part)
    if isinstance(found, PythonTool):
        return found.function
    if not callable(found) or isinstance(found, type):
        raise ContractError(f"{where}: python: {name} is not a function.")
    function: Callable[..., Any] = found
    return function
