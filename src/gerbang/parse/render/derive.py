"""A shape made from a dialect's row, for dialects whose calls look as their layout alone says."""

from gerbang.parse.dialect import Dialect
from gerbang.parse.layout import Elements, JsonTags, Notation, PairTags, Python, XmlTags
from gerbang.parse.render import tagged
from gerbang.parse.render.shape import PythonCalls, Shape, Template
from gerbang.parse.render.table import PAIR_MARKS


def derived(row: Dialect) -> Shape | None:
    """Return how the calls of this dialect are written, or None when its layout does not tell.

    The first mark of the row is taken for the usual one. A dialect that needs more has a row in `SHAPES`.
    """
    if not row.entries:
        return None
    mark, layout = row.entries[0].mark, row.entries[0].layout
    if isinstance(layout, JsonTags):
        return _json(mark, layout)
    if isinstance(layout, XmlTags):
        return _xml(layout, typed=row.encoding == "X+")
    if isinstance(layout, PairTags):
        return _pairs(layout)
    if isinstance(layout, Python):
        close = layout.closes[0] if layout.closes else ""
        if layout.lines:
            return PythonCalls(
                f"{mark}\n",
                f"\n{close}",
                joint="\n",
                json_words=True,
                marks=(mark, *layout.closes),
                many="inside",
            )
        return PythonCalls(f"{mark}[", f"]{close}", marks=(mark, *layout.closes))
    if isinstance(layout, Notation):
        return tagged.Notation(mark, layout.close, layout.quote)
    if isinstance(layout, Elements):
        return tagged.Elements(layout.prefix)
    return None


def _json(mark: str, layout: JsonTags) -> Shape:
    close = layout.closes[0] if layout.closes else ""
    marks = (mark, *layout.closes)
    if layout.keyed:
        return Template("{%N: %A}", f"{mark}[", f"]{close}", ", ", marks=marks, many="list")
    opening = mark[: len(mark) - layout.keep]
    body = '{"name": %N, "arguments": %A}'
    if layout.keep or not close:
        return Template(body, f"{opening}[", f"]{close}", ", ", marks=marks, many="list")
    return Template(f"{mark}\n{body}\n{close}", marks=marks)


def _xml(layout: XmlTags, *, typed: bool) -> Shape:
    wrapper, wrapper_close = layout.wrappers[0] if layout.wrappers else ("", "")
    line = "\n" if layout.trim else ""
    string_mark = ' string="%t"' if typed else ""
    if layout.attributes:
        opening = f'{layout.call.rstrip()} {layout.name_attributes[0]}="%n"{layout.tag_end}\n'
        argument = f'{layout.param.rstrip()} {layout.key_attributes[0]}="%k"{string_mark}{layout.tag_end}'
    else:
        opening = f"{layout.call}%n{layout.tag_end}\n"
        argument = f"{layout.param}%k{layout.tag_end}"
    encode = tagged.string_mark if typed else tagged.cdata if layout.cdata else tagged.raw
    marks = (layout.param_close, layout.param, layout.call_close, layout.call, wrapper_close, wrapper)
    before, after = (f"{wrapper}\n", f"\n{wrapper_close}") if wrapper else ("", "")
    each = not layout.attributes  # these models write the wrapper round every call
    return tagged.Tagged(
        open=(before if each else "") + opening,
        argument=f"{argument}{line}%v{line}{layout.param_close}\n",
        close=layout.call_close + (after if each else ""),
        head="" if each else before,
        tail="" if each else after,
        encode=encode,
        key=tagged.escaped_key if layout.escaped else tagged.plain_key,
        marks=tuple(mark for mark in marks if mark),
        how="marked" if typed else "raw",
        many="repeat" if each else "inside",
    )


def _pairs(layout: PairTags) -> Shape:
    head, tail = layout.wrapper or ("", "")
    return tagged.Tagged(
        open=f"<tool_call>%n{layout.sep}",
        argument="<arg_key>%k</arg_key><arg_value>%v</arg_value>",
        close="</tool_call>",
        head=head,
        tail=tail,
        joint="",
        marks=PAIR_MARKS,
        many="inside" if head else "repeat",
    )
