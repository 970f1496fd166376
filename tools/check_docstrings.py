"""Checks the docstrings of the public surface: each name has its own, and it names the errors it raises."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import gerbang
from gerbang import errors

ERRORS = {name for name, item in vars(errors).items() if inspect.isclass(item)}
SHORTEST = 20


def main() -> int:
    """Print every problem, and return 1 when there is one."""
    problems = 0
    checked = 0
    for name, item in surface():
        checked += 1
        for problem in faults(item):
            problems += 1
            print(f"gerbang.{name}: {problem}")
    print(f"public names: {checked} checked, {problems} problem{'s' if problems != 1 else ''}")
    return 1 if problems else 0


def surface() -> Iterator[tuple[str, Any]]:
    """Yield every public name with its object: the package's, its public modules', and their methods."""
    for name in gerbang.__all__:
        item = getattr(gerbang, name)
        yield name, item
        if isinstance(item, ModuleType):
            for inner in getattr(item, "__all__", ()):
                yield f"{name}.{inner}", getattr(item, inner)
        elif inspect.isclass(item):
            for inner, method in vars(item).items():
                if not inner.startswith("_") and callable(method):
                    yield f"{name}.{inner}", method


def faults(item: Any) -> Iterator[str]:
    """Yield what is wrong with one object's docstring."""
    if not (inspect.isclass(item) or callable(item) or isinstance(item, ModuleType)):
        return  # constants and type aliases are documented beside their definition
    text = vars(item).get("__doc__") if inspect.isclass(item) else getattr(item, "__doc__", None)
    if not text or len(text.strip()) < SHORTEST:
        yield "has no docstring of its own"
        return
    if inspect.isfunction(item):
        for error in raised(item) & ERRORS:
            if error not in text:
                yield f"raises {error} and its docstring does not say so"


def raised(function: Callable[..., Any]) -> set[str]:
    """Return the names of the errors that the function's own body raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {
        node.exc.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and isinstance(node.exc.func, ast.Name)
    }


if __name__ == "__main__":
    sys.exit(main())
