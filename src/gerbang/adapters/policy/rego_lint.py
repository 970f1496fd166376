"""What is refused in a Rego bundle although an engine would take it.

Works on the syntax tree of `regorus.Engine.get_ast_as_json` (one entry a file: `source.file` and `ast` with
`package`, `imports` and `rules`), which is how the worker sees a bundle. No pattern runs over the source.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # the worker starts without what reads bundles
    from gerbang.adapters.policy.bundle import Fault

UNSTEADY: Final[Mapping[str, str]] = {
    "time.now_ns": "the time is input.time, so that a decision can be replayed",
    "rand.intn": "a decision must be the same each time",
    "uuid.rfc4122": "a decision must be the same each time",
    "http.send": "a policy has no network; facts come in with the input",
    "net.lookup_ip_addr": "a policy has no network; facts come in with the input",
    "opa.runtime": "a policy sees its input and its data, nothing of the machine",
}
"""Built-in functions that make a decision depend on more than input and data, and what to do instead."""


def lint(
    modules: list[dict[str, Any]], data: Mapping[str, Any], entry: str, known: set[str]
) -> "list[Fault]":
    """Return the faults of a bundle, in the order of files and lines.

    `known` are the engine's built-in functions. Found are: two defaults for one rule, functions that call
    themselves (the engine would crash), unknown and unsteady functions, data that lies where rules are,
    and an entry point that no rule defines.
    """
    rules = [rule for module in modules for rule in _rules(module)]
    names = {rule.name for rule in rules}
    faults = [*_defaults(rules), *_recursion(rules), *_functions(rules, names, known)]
    faults.extend(
        (*rule.place, f"{rule.name} is a rule and also a value of data.json. Rename one.")
        for rule in rules
        if _in_data(rule.name, data)
    )
    if entry not in names and not any(name.startswith(entry + ".") for name in names):
        file = modules[0]["source"]["file"] if modules else ""
        package, _, last = entry.rpartition(".")
        advice = f"Add `{last}` to package {package.removeprefix('data.')}, or name another entry point."
        faults.append((file, 1, 1, f"no rule defines {entry}. {advice}"))
    return sorted(dict.fromkeys(faults))


def facts_read(modules: list[dict[str, Any]]) -> list[str]:
    """Return the names below `input.facts` that a bundle reads: `input.facts["repository.visibility"]`."""
    found: set[str] = set()
    left: list[Any] = [module["ast"]["rules"] for module in modules]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left.extend(item)
        elif isinstance(item, dict):
            for kind, body in item.items():
                if kind in ("RefDot", "RefBrack") and _chain(body["refr"], whole=True) == (
                    "input",
                    "facts",
                ):
                    name = body["field"][1] if kind == "RefDot" else _text(body["index"])
                    found.update([name] if name else [])
                left.append(body)
    return sorted(found)


def fields_read(modules: list[dict[str, Any]]) -> list[str] | None:
    """Return the fields of the input that a bundle can see, or None when it may look at the whole of it."""
    found: set[str] = set()
    left: list[Any] = [[module["ast"]["rules"], module["ast"]["imports"]] for module in modules]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left.extend(item)
        elif isinstance(item, dict):
            for kind, body in item.items():
                if kind == "Var" and body.get("value") == "input":
                    return None
                name = _field_of_input(kind, body)
                if name is None:
                    left.append(body)
                else:
                    found.add(name)
    return sorted(found)


def _field_of_input(kind: str, body: Any) -> str | None:
    if kind not in ("RefDot", "RefBrack") or _chain(body["refr"], whole=True) != ("input",):
        return None
    return str(body["field"][1]) if kind == "RefDot" else _text(body["index"])


def _text(node: dict[str, Any]) -> str | None:
    body = node.get("String") or node.get("RawString")
    return None if body is None else str(body["value"])


class _Rule:
    """One rule or default: its full name, its place, and the references inside it."""

    def __init__(self, module: "_Names", kind: str, node: dict[str, Any]) -> None:
        head = node if kind == "Default" else next(iter(node["head"].values()))
        self.default = kind == "Default"
        self.function = "Func" in node.get("head", {}) or bool(node.get("args"))
        self.name = module.package + "." + ".".join(_chain(head["refr"]) or ("?",))
        self.place = (module.file, node["span"]["line"], node["span"]["col"])
        self.calls = list(_calls(module, node))


class _Names:
    """How a file's short names read in full."""

    def __init__(self, module: dict[str, Any]) -> None:
        self.file: str = module["source"]["file"]
        tree = module["ast"]
        self.package = "data." + ".".join(_chain(tree["package"]["refr"]))
        self.imports: dict[str, str] = {}
        for item in tree["imports"]:
            path = _chain(item["refr"])
            if path and path[0] == "data":
                self.imports[_alias(item, module["source"]["contents"]) or path[-1]] = ".".join(path)

    def full(self, chain: tuple[str, ...]) -> str:
        """Return the path below `data` that a reference means, if it means a rule."""
        if chain[0] == "data":
            return ".".join(chain)
        if chain[0] in self.imports:
            return ".".join((self.imports[chain[0]], *chain[1:]))
        return ".".join((self.package, *chain))


def _rules(module: dict[str, Any]) -> Iterator[_Rule]:
    names = _Names(module)
    for item in module["ast"]["rules"]:
        for kind, node in item.items():
            yield _Rule(names, kind, node)


def _alias(item: dict[str, Any], source: str) -> str:
    span = item.get("as")
    if not span:
        return ""
    return source.encode()[span["start"] : span["end"]].decode("utf-8", "replace")


def _chain(node: dict[str, Any], *, whole: bool = False) -> tuple[str, ...]:
    """Return the names of a reference such as `data.a.b`; what comes after a bracket is left out.

    With `whole`, a reference with a bracket has no names: who knows what it leads to.
    """
    parts: list[str] = []
    while True:
        kind, body = next(iter(node.items()))
        if kind == "RefDot":
            parts.append(body["field"][1])
        elif kind == "RefBrack":
            if whole:
                return ()
            parts.clear()
        elif kind == "Var":
            return (str(body["value"]), *reversed([str(part) for part in parts]))
        else:
            return ()
        node = body["refr"]


def _calls(names: _Names, node: dict[str, Any]) -> Iterator[tuple[str, str, tuple[str, int, int]]]:
    """Yield each call below `node`: as written, in full, and its place."""
    left: list[Any] = [node]
    while left:
        item = left.pop()
        if isinstance(item, list):
            left.extend(item)
        elif isinstance(item, dict):
            call = item.get("Call")
            if isinstance(call, dict) and "fcn" in call:
                chain = _chain(call["fcn"], whole=True)
                if chain:
                    yield ".".join(chain), names.full(chain), (names.file, *_start(call["fcn"]))
            left.extend(item.values())


def _start(node: dict[str, Any]) -> tuple[int, int]:
    """Return line and column of the first name of a reference."""
    body: dict[str, Any] = next(iter(node.values()))
    while "refr" in body:
        body = next(iter(body["refr"].values()))
    return body["span"]["line"], body["span"]["col"]


def _defaults(rules: Iterable[_Rule]) -> "Iterator[Fault]":
    seen: dict[str, _Rule] = {}
    for rule in rules:
        if rule.default and seen.setdefault(rule.name, rule) is not rule:
            first = seen[rule.name].place
            yield (
                *rule.place,
                f"a second default for {rule.name}; the first is at {first[0]}:{first[1]}. Keep one.",
            )


def _recursion(rules: Iterable[_Rule]) -> "Iterator[Fault]":
    graph: dict[str, set[str]] = {}
    places: dict[str, tuple[str, int, int]] = {}
    for rule in rules:
        graph.setdefault(rule.name, set()).update(full for _, full, _ in rule.calls)
        places.setdefault(rule.name, rule.place)
    for name, place in places.items():
        reached: set[str] = set()
        left = list(graph[name])
        while left:
            step = left.pop()
            if step not in reached:
                reached.add(step)
                left.extend(graph.get(step, ()))
        if name in reached:
            yield (*place, f"{name} calls itself; Rego has no recursion.")


def _functions(rules: Iterable[_Rule], names: set[str], known: set[str]) -> "Iterator[Fault]":
    for rule in rules:
        for written, full, place in rule.calls:
            if full in names:
                continue
            if written in UNSTEADY:
                yield (*place, f"{written} is not for policies: {UNSTEADY[written]}.")
            elif written not in known:
                yield (*place, f"there is no function {written}.")


def _in_data(name: str, data: Any) -> bool:
    for part in name.split(".")[1:]:
        if not isinstance(data, Mapping):
            return True
        if part not in data:
            return False
        data = data[part]
    return True
