"""Measures other parsers of tool calls; run by parse_speed.py in an environment of their own. Prints JSON.

Make it with:
    python -m venv .bench/parse-peers
    .bench/parse-peers/bin/pip install pydantic partial_json_parser orjson openai agent-tool-parser==0.1.3
    .bench/parse-peers/bin/pip install --no-deps llm-router-utils==0.8.1
"""

import importlib
import json
import sys
import time
from typing import Any

SGLANG = {
    "hermes": ("hermes_detector", "HermesDetector"),
    "qwen3_coder": ("qwen3_coder_detector", "Qwen3CoderDetector"),
    "glm47": ("glm47_moe_detector", "Glm47MoeDetector"),
    "kimi_k2": ("kimik2_detector", "KimiK2Detector"),
    "minimax_m2": ("minimax_m2", "MinimaxM2Detector"),
    "deepseek_v31": ("deepseekv31_detector", "DeepSeekV31Detector"),
}
_ROOT = "llm_router_utils.sglang.srt"


def sglang(dialect: str, text: str, limit: float) -> tuple[float, int] | None:
    """Return (seconds, characters) of SGLang's stream parser on 4-character deltas, up to `limit` seconds."""
    module, name = SGLANG[dialect]
    made: Any = getattr(importlib.import_module(f"{_ROOT}.function_call.{module}"), name)
    detector = made()
    protocol: Any = None
    for place in ("entrypoints.openai.protocol", "function_call.base_format_detector"):
        try:
            protocol = importlib.import_module(f"{_ROOT}.{place}")
        except ImportError:
            continue
        if hasattr(protocol, "Tool"):
            break
    schema = {"type": "object", "properties": {"path": {"type": "string"}, "body": {"type": "string"}}}
    tool = protocol.Tool(
        type="function", function=protocol.Function(name="write_note", description="", parameters=schema)
    )
    start = time.perf_counter()
    for at in range(0, len(text), 4):
        detector.parse_streaming_increment(text[at : at + 4], [tool])
        if time.perf_counter() - start > limit:
            return time.perf_counter() - start, at + 4
    return time.perf_counter() - start, len(text)


def whole(text: str) -> tuple[float, int]:
    """Return (seconds, characters) of agent-tool-parser, which reads whole texts only."""
    parser: Any = importlib.import_module("agent_tool_parser").ToolParser()
    start = time.perf_counter()
    parser.try_parse_all(text)
    return time.perf_counter() - start, len(text)


def main() -> None:
    """Read {dialect: text} from stdin and print {peer: {dialect: [seconds, characters] or an error}}."""
    texts = json.load(sys.stdin)
    found: dict[str, dict[str, Any]] = {"sglang": {}, "agent-tool-parser": {}}
    for dialect, text in texts.items():
        for peer in found:
            try:
                found[peer][dialect] = sglang(dialect, text, 20.0) if peer == "sglang" else whole(text)
            except Exception as error:  # a peer that fails is a result, not the end of the run
                found[peer][dialect] = f"{type(error).__name__}: {str(error)[:80]}"
    print(json.dumps(found))


if __name__ == "__main__":
    main()
