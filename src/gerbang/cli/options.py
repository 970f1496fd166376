"""Options that several commands share, and how they become settings."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from gerbang.cli.texts import speak
from gerbang.config import Settings, load

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Config = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings file (TOML).")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="Where records are kept: sqlite:PATH, postgresql://… or memory:"
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="ADDRESS", help="embedded: | openai:MODEL@URL | ollama:MODEL@URL | gguf:PATH"
    ),
]
Profile = Annotated[str | None, typer.Option("--profile", help="local, minimal, terminal, gateway or voice.")]
Lang = Annotated[str | None, typer.Option("--lang", help="Language of runtime texts and tools: en or id.")]
Workspace = Annotated[
    str | None, typer.Option("--workspace", metavar="DIR", help="The folder that file tools may read.")
]
Knowledge = Annotated[
    str | None,
    typer.Option("--knowledge", metavar="PATH", help="Markdown folder or YAML file for knowledge_search."),
]
Tools = Annotated[
    list[str] | None,
    typer.Option(
        "--python", metavar="MODULE:NAME", help="Add tools: a tool or a list of tools in a Python module."
    ),
]
HttpTools = Annotated[
    str | None,
    typer.Option("--tools", metavar="FILE", help="Add tools: a JSON array of HTTP requests as tools."),
]
Secrets = Annotated[
    str | None,
    typer.Option(
        "--secrets", metavar="ADDRESS", help="Where secrets are: env: | file:PATH | keyring: | envfile:PATH"
    ),
]
Pending = Annotated[
    bool,
    typer.Option(
        "--pending", help="Ask nobody: leave what needs approval waiting in the store (exit code 3)."
    ),
]
Policy = Annotated[
    str | None,
    typer.Option("--policy", metavar="POLICY", help="Rules: a file or folder. Or rego:PATH, opa:URL."),
]


def settings(config: Path | None, **options: Any) -> Settings:
    """Return the settings of this process, and speak their language from now on.

    Options beat the environment, which beats the file.
    """
    loaded = load(options, os.environ, config)
    speak(loaded.lang)
    return loaded
