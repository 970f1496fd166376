"""`system_prompt`: the section of a system prompt that lets a model call tools in a dialect by text."""

from collections.abc import Iterable
from typing import Final

from gerbang.parse.render.calls import check_name, render, shape_of
from gerbang.parse.render.envelope import render_result
from gerbang.parse.render.example import example_call
from gerbang.parse.render.refusal import RenderError
from gerbang.parse.render.shape import Shape
from gerbang.parse.render.signature import Tool, signature, tool_of
from gerbang.parse.render.wirecall import WireCall
from gerbang.parse.render.wording import Wording, wording

MAX_TOOLS: Final = 200
"""Tools listed in one prompt; the text says how many more there are."""
_EXAMPLE_TRIES: Final = 8


def system_prompt(tools: Iterable[object], dialect: str, lang: str = "en") -> str:
    """Return the prompt section that explains how to call `tools` in `dialect`.

    `tools` are dicts with `name`, `description`, `parameters` (JSON Schema), OpenAI's form of it, or objects
    with these attributes. `lang` is `en` or `id`. The text depends on the arguments alone; its size is
    bounded (200 tools, about 1,100 characters each). It says what is required, how several calls and
    several steps go, when to answer directly, that results are never invented and nothing is
    promised without its call, lists the tools, and explains that results come from the runtime and are
    data. It holds one example call in the dialect, which `parse` reads.

    Raises RenderError for an unknown dialect or language, a tool without a name, and a tool whose name
    cannot be called in the dialect.
    """
    shape = shape_of(dialect)
    words = wording(lang)
    known = [tool_of(tool) for tool in tools]
    if not known:
        return f"{words.title}\n\n{words.no_tools}"
    for tool in known:
        check_name(tool.name, dialect)
    sections = [
        f"{words.title}\n\n{words.intro}",
        _how_to_call(known, dialect, shape, words),
        _tool_list(known, words),
        _results(known[0].name, dialect, lang, words),
    ]
    return "\n\n".join(sections)


def example(tools: Iterable[object], dialect: str) -> str:
    """Return the example call that `system_prompt` shows for these tools, as it stands there."""
    return _example([tool_of(tool) for tool in tools], dialect)


def _example(tools: list[Tool], dialect: str) -> str:
    problem: RenderError | None = None
    telling = [tool for tool in tools if tool.properties] + [tool for tool in tools if not tool.properties]
    for tool in telling[:_EXAMPLE_TRIES]:
        schemas = [{"name": tool.name, "parameters": dict(tool.parameters)}]
        for call in (example_call(tool), WireCall(tool.name, {})):
            try:
                return render([call], dialect, tools=schemas)
            except RenderError as error:
                problem = problem or error
    raise RenderError(f"No example can be written: {problem}")


def _how_to_call(tools: list[Tool], dialect: str, shape: Shape, words: Wording) -> str:
    rules = [
        words.arguments[shape.how],
        words.required,
        words.many[shape.many] if shape.many else words.only_one,
        words.steps,
        words.direct,
        *([words.answer[dialect]] if dialect in words.answer else []),
        words.invent,
        words.promise,
        *([words.risk] if any("risk" in tool.properties for tool in tools) else []),
    ]
    listed = "\n".join(f"- {rule}" for rule in rules)
    return f"{words.call_title}\n\n{words.call_intro}\n\n{_example(tools, dialect).strip()}\n\n{listed}"


def _tool_list(tools: list[Tool], words: Wording) -> str:
    lines = [signature(tool) for tool in tools[:MAX_TOOLS]]
    if len(tools) > MAX_TOOLS:
        lines.append(words.more_tools.format(count=len(tools) - MAX_TOOLS))
    return f"{words.tools_title}\n\n{words.tools_intro}\n\n" + "\n".join(lines)


def _results(name: str, dialect: str, lang: str, words: Wording) -> str:
    form = render_result(name, words.result_word, dialect, lang=lang, step=1, max_steps=12).strip()
    return "\n\n".join(
        (
            f"{words.results_title}\n\n{words.results_intro}",
            form,
            f"- {words.results_truth}\n- {words.results_data}\n- {words.results_error}",
        )
    )
