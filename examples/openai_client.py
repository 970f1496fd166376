"""Any OpenAI client against Gerbang: python examples/openai_client.py [MODEL]   (pip install openai)"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import openai

CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
WEATHER = {"name": "get_weather", "description": "Current weather in a city.", "parameters": CITY}
SERVE = [
    str(Path(sys.executable).with_name("gerbang")),
    "serve",
    "--port=0",
    "--log-level=warning",
    "--model",
]


def main(url: str) -> None:
    chat = openai.OpenAI(base_url=f"{url}/v1", api_key="unused").chat.completions
    # a tool of the server: it runs there, behind the gate
    talk: list[Any] = [{"role": "user", "content": "What is 25 * 4 + 10?"}]
    for chunk in chat.create(model="gerbang", messages=talk, stream=True):
        print(chunk.choices[0].delta.content or "", end="")
    # a tool of ours: its calls come back when they fit and policy allows them
    talk = [{"role": "user", "content": "What is the weather in Paris?"}]
    tools: list[Any] = [{"type": "function", "function": WEATHER}]
    answer = chat.create(model="gerbang", messages=talk, tools=tools).choices[0].message
    talk.append(answer)
    for call in answer.tool_calls or ():
        assert call.type == "function"
        print("", call.function.name, json.loads(call.function.arguments))
        talk.append({"role": "tool", "tool_call_id": call.id, "content": "21 degrees"})
    print(chat.create(model="gerbang", messages=talk, tools=tools).choices[0].message.content)


with subprocess.Popen([*SERVE, *(sys.argv[1:] or ["embedded:"])], stdout=subprocess.PIPE) as server:  # noqa: S603
    assert server.stdout is not None
    main(server.stdout.readline().decode().split()[3])  # "Gerbang listens on URL"
    server.terminate()
