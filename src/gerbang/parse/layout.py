"""How the formats differ within a family: frozen rows, read by the family's one machine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JsonTags:
    """JSON objects, a list of them, or one a line, between marks.

    `closes` end the block; without any the JSON ends it. A `word` mark is a word that prose may use: what
    follows decides. `keep` characters of the mark belong to the body. `keyed`: the tool's name is the only
    key. `quiet`: the mark is so common in prose that it is no fault when no call follows.
    """

    closes: tuple[str, ...] = ()
    word: bool = False
    keep: int = 0
    keyed: bool = False
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class NamedJson:
    """The name outside, the arguments as one JSON object. `grammar` names the reading of the head."""

    grammar: str
    closes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class XmlTags:
    """Calls and arguments as tags around raw text.

    `call` and `param` are the beginnings of the opening tags; with `attributes` the name is their attribute
    (one of `name_attributes`, `key_attributes`), else it stands right behind. `tag_end` ends an opening tag.
    `trim`: one line break at each side of a value is markup. `inner` marks are skipped between calls.
    """

    wrappers: tuple[tuple[str, str], ...]
    call: str
    call_close: str
    param: str
    param_close: str
    attributes: bool = True
    name_attributes: tuple[str, ...] = ("name",)
    key_attributes: tuple[str, ...] = ("name",)
    tag_end: str = ">"
    trim: bool = False
    inner: tuple[str, ...] = ()
    escaped: bool = False
    cdata: bool = False


@dataclass(frozen=True, slots=True)
class PairTags:
    """Name as text, then keys and values in tags of their own: `<tool_call>`, `<arg_key>`, `<arg_value>`.

    `space` stands before every tag's name, `suffix` behind it, `call` is the name of the call's own tag.
    """

    wrapper: tuple[str, str] | None = None
    sep: str = ""
    space: str = ""
    call: str = "tool_call"
    suffix: str = ""

    def opening(self, tag: str) -> str:
        """Return the opening tag."""
        return f"<{self.space}{tag}{self.suffix}>"

    def closing(self, tag: str) -> str:
        """Return the end tag."""
        return f"</{self.space}{tag}{self.suffix}>"


@dataclass(frozen=True, slots=True)
class Elements:
    """Every argument an element of its own, every tag behind `prefix`."""

    prefix: str


@dataclass(frozen=True, slots=True)
class Python:
    """Python calls: in marks, or bare at the start of the answer."""

    closes: tuple[str, ...] = ()
    lines: bool = False


@dataclass(frozen=True, slots=True)
class Notation:
    """`call:name{key:value}` with string marks of its own."""

    close: str
    quote: str


@dataclass(frozen=True, slots=True)
class Bare:
    """JSON without marks, on lines of its own. `known`: only offered tools count, else only at the start of
    the answer any. `close`: a mark that must follow, so that the opening one was forgotten.
    """

    known: bool = True
    close: str = ""
    fence: bool = False
    python: bool = False
    router: bool = False
    untagged: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """A mark that may start a call, and who reads on from there."""

    mark: str
    layout: JsonTags | NamedJson | XmlTags | PairTags | Elements | Python | Notation
