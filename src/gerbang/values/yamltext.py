"""YAML as a plain data format: no aliases, no tags, no key twice. Errors name file, line and column.

Words that YAML 1.1 reads as something else than what stands there (`yes`, `on`, `010`, `12:30`, dates)
are refused, with the advice to quote them: nothing is guessed about what a person meant.
"""

import re
from typing import Any, Final

from gerbang.errors import ConfigError, GerbangError

_MAX_YAML_CHARS = 4_000_000
_TAG: Final = "tag:yaml.org,2002:"
_PLAIN: Final = {
    _TAG + "bool": (re.compile(r"(?i:true|false)"), "write true or false, or quote it"),
    _TAG + "int": (re.compile(r"[-+]?(?:0|[1-9][0-9]*)"), "write a plain decimal number, or quote it"),
    _TAG + "float": (
        re.compile(r"[-+]?(?:0|[1-9][0-9]*)?\.[0-9]*(?:[eE][-+]?[0-9]+)?"),
        "write a plain decimal number, or quote it",
    ),
    _TAG + "timestamp": (re.compile(r"(?!)"), "quote dates and times"),
}


def read_yaml(text: str, origin: str, error: type[GerbangError] = ConfigError) -> Any:
    """Return the value of a YAML document. `origin` names the file in errors; `error` is what to raise.

    Raises `error` for wrong syntax, repeated keys, anchors and aliases (the stuff of YAML bombs),
    tags, words with a hidden reading such as `yes` or `12:30`, and texts over four million characters.
    """
    import yaml  # costs 20 ms: only those who read YAML pay for it

    if len(text) > _MAX_YAML_CHARS:
        raise error(f"{origin}: the file is {len(text)} characters; the limit is {_MAX_YAML_CHARS}.")

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise error(f"{origin}: {_place(event.start_mark)}: anchors and aliases are not allowed.")
            if getattr(event, "tag", None):
                raise error(f"{origin}: {_place(event.start_mark)}: tags are not allowed.")
            node = super().compose_node(parent, index)
            if isinstance(node, yaml.ScalarNode) and node.style is None and node.tag in _PLAIN:
                pattern, advice = _PLAIN[node.tag]
                if not pattern.fullmatch(node.value):
                    place = _place(node.start_mark)
                    raise error(f"{origin}: {place}: {node.value[:80]!r} can be read in two ways; {advice}.")
            return node

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            seen: set[Any] = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, str):
                    place = _place(key_node.start_mark)
                    raise error(f"{origin}: {place}: keys must be text; quote {str(key)[:80]!r}.")
                if key in seen:
                    raise error(
                        f"{origin}: {_place(key_node.start_mark)}: the key {key[:80]!r} stands here twice."
                    )
                seen.add(key)
            return super().construct_mapping(node, deep=deep)

    try:
        return yaml.load(text, Loader)  # noqa: S506 - Loader is a SafeLoader with stricter rules
    except yaml.MarkedYAMLError as bad:
        place = _place(bad.problem_mark) if bad.problem_mark else "?"
        raise error(f"{origin}: {place}: {bad.problem or 'this is not YAML'}.") from None
    except (yaml.YAMLError, RecursionError, ValueError) as bad:
        raise error(f"{origin}: this is not usable YAML: {str(bad)[:200]}") from None


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"
