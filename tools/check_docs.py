"""Checks the documents: links, anchors, code blocks, and that shown examples are the files that tests run.

A code block after a line `<!-- file: PATH -->` must be that file, word for word. Python blocks must
compile. `make TARGET` and `gerbang COMMAND` in shell blocks must exist.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

from typer.main import get_command

from gerbang.cli.app import build

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"")
FENCE = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n+)?```(?P<lang>[a-z]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL
)
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
# Documents speak of the project, not of the machine where somebody wrote them.
FOREIGN = re.compile(r"/root/|/work/|/home/\w|/Users/\w|file://")


def main() -> int:
    """Print every problem, and return 1 when there is one."""
    documents = sorted(ROOT / name for name in listed("*.md"))
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = command_names()
    problems: list[str] = []
    for path in documents:
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(ROOT)
        problems += [f"{where}: {problem}" for problem in links(path, text)]
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start("body"))
            problems += [f"{where}:{line}: {problem}" for problem in block(match, targets, commands)]
        problems += [f"{where}: holds the path of a machine: {hit}" for hit in FOREIGN.findall(text)]
    for problem in problems:
        print(problem)
    print(f"documents: {len(documents)} checked, {len(problems)} problem{'s' if len(problems) != 1 else ''}")
    return 1 if problems else 0


def listed(pattern: str) -> list[str]:
    """Return the files of the repository that match: new ones included, ignored and hidden ones not."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", pattern]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in found.split("\0") if name and not name.startswith(".")}
    return sorted(name for name in names if (ROOT / name).is_file())


def links(path: Path, text: str) -> list[str]:
    """Return the links of a document that lead nowhere inside the repository."""
    problems = []
    prose = FENCE.sub("", text)
    for match in LINK.finditer(prose):
        target = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists():
            problems.append(f"link to {target}: there is no such file")
        elif not file.is_relative_to(ROOT):
            problems.append(f"link to {target}: it leaves the repository")
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            problems.append(f"link to {target}: there is no such heading")
    return problems


def anchors(path: Path) -> set[str]:
    """Return the anchors of a document's headings, as the usual Markdown hosts make them."""
    found: set[str] = set()
    for heading in HEADING.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number, unique = 0, slug
        while unique in found:
            number += 1
            unique = f"{slug}-{number}"
        found.add(unique)
    return found


def block(match: re.Match[str], targets: set[str], commands: dict[str, set[str]]) -> list[str]:
    """Return what is wrong with one code block."""
    body, language, shown = match["body"], match["lang"], match["file"]
    problems = []
    if shown is not None:
        file = ROOT / shown
        if not file.is_file():
            problems.append(f"shows {shown}, which does not exist")
        elif file.read_text(encoding="utf-8").strip() != body.strip():
            problems.append(f"differs from {shown}, which it says it shows")
    if language == "python":
        try:
            compile(body, "<block>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except SyntaxError as error:
            problems.append(f"Python block does not compile: {error}")
    if language in ("sh", "bash", "shell", "console"):
        wanted = re.findall(r"^\$? ?make ([a-z]+)", body, re.MULTILINE)
        problems += [f"there is no `make {target}`" for target in wanted if target not in targets]
        for command, sub in re.findall(r"\bgerbang ([a-z]+)(?: ([a-z][a-z-]*)\b)?", body):
            if command not in commands:
                problems.append(f"there is no `gerbang {command}`")
            elif commands[command] and sub not in commands[command]:
                problems.append(f"there is no `gerbang {command} {sub}`")
    return problems


def command_names() -> dict[str, set[str]]:
    """Return the commands and, for groups, their own commands."""
    root = get_command(build())
    found = getattr(root, "commands", {})
    return {name: set(getattr(command, "commands", {})) for name, command in found.items()}


if __name__ == "__main__":
    sys.exit(main())
