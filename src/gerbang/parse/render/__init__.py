"""The other direction of parsing: calls, results and the tool section of a prompt, written in a dialect."""

from gerbang.parse.render.calls import render
from gerbang.parse.render.envelope import render_result
from gerbang.parse.render.prompt import system_prompt
from gerbang.parse.render.refusal import RenderError

__all__ = ["RenderError", "render", "render_result", "system_prompt"]
