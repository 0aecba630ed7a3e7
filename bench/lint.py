"""How long `kvaudit lint` takes: one template from a cold start, and a tree of mixed files.

    python -m bench.lint --work FOLDER [--files 5000]

The tree is made, the same for a seed: Python and TypeScript modules of which some build prompts,
Jinja templates, Markdown prompts, YAML and JSON of request bodies, and files that are no prompts
at all, as in a repository.
"""

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from bench.measure import Cost, median, run
from kvaudit.traffic.english import ENGLISH

RUNS = 5


def text(rng: Random, sentences: int) -> str:
    """Return a paragraph of instructions."""
    return " ".join(ENGLISH.sentence("rule", rng) for _ in range(sentences))


def python(rng: Random, number: int) -> str:
    """Return a module; one in four builds a prompt, one in twelve with a clock in it."""
    plain = "\n\n".join(
        f'def step_{i}(items, limit={i}):\n    """{text(rng, 1)}"""\n    found = []\n'
        f"    for item in items[:limit]:\n        if item.get({f'key_{i}'!r}) is not None:\n"
        f"            found.append(str(item['name']).strip().lower())\n    return sorted(found)\n"
        for i in range(rng.randrange(4, 30))
    )
    if number % 4:
        return f'"""{text(rng, 1)}"""\n\nimport json\n\n\n{plain}'
    clock = "It is {datetime.now()}. " if number % 12 == 0 else ""
    rules = "\n".join(text(rng, 2) for _ in range(12))
    return (
        f'"""{text(rng, 1)}"""\n\nfrom datetime import datetime\n\nRULES = """{rules}"""\n\n\n'
        "def build_system_prompt(user):\n"
        f'    return f"{clock}{{RULES}}\\n\\nYou help {{user.name}}."\n\n\n{plain}'
    )


def typescript(rng: Random, number: int) -> str:
    """Return a module; one in four builds a prompt."""
    plain = "\n".join(
        f"export function step{i}(items: Item[], limit = {i}): string[] {{\n"
        f"  // {text(rng, 1)}\n"
        f"  return items.slice(0, limit).map((item) => item.name.trim());\n}}\n"
        for i in range(rng.randrange(4, 30))
    )
    if number % 4:
        return plain
    clock = "It is ${new Date().toISOString()}. " if number % 12 == 0 else ""
    rules = "\n".join(text(rng, 2) for _ in range(12))
    head = f"const RULES = `{rules}`;\n\nexport function systemPrompt(user: User): string {{\n"
    return f"{head}  return `{clock}${{RULES}} You help ${{user.name}}.`;\n}}\n\n{plain}"


def jinja(rng: Random, number: int) -> str:
    """Return a template; one in three has a clock on its first line."""
    clock = "It is {{ now() }}.\n" if number % 3 == 0 else ""
    loop = "{% for tool in tools %}\n- {{ tool.name }}: {{ tool.description }}\n{% endfor %}\n"
    return f"{clock}{text(rng, 10)}\n{loop}{text(rng, 10)}\n\n{{{{ question }}}}\n"


def markdown(rng: Random, number: int) -> str:
    """Return a page, or the prompt of an agent."""
    head = f"---\nname: agent-{number}\nmodel: large\n---\n" if number % 2 else ""
    return head + "\n\n".join(f"## Part {i}\n\n{text(rng, 5)}" for i in range(8)) + "\n"


def yaml(rng: Random, number: int) -> str:
    """Return a configuration, or a body of a request."""
    if number % 3:
        return "".join(f"key_{i}:\n  name: value {i}\n  limit: {i}\n" for i in range(40))
    return f"model: large\nmessages:\n- role: system\n  content: |\n    {text(rng, 20)}\n"


def json_body(rng: Random, number: int) -> str:
    """Return data, or a body of a request."""
    if number % 3:
        return json.dumps([{"id": i, "name": text(rng, 1)} for i in range(40)], indent=1)
    messages = [
        {"role": "system", "content": text(rng, 20)},
        {"role": "user", "content": ENGLISH.sentence("question", rng)},
    ]
    return json.dumps({"model": "large", "messages": messages}, indent=1)


KINDS: list[tuple[str, int, Callable[[Random, int], str]]] = [
    ("py", 40, python),
    ("ts", 20, typescript),
    ("j2", 10, jinja),
    ("md", 15, markdown),
    ("yaml", 8, yaml),
    ("json", 7, json_body),
]
"""Suffix, share in per cent, and what makes such a file."""


def make_tree(folder: Path, files: int) -> int:
    """Write the tree, unless it is there, and return its size in bytes."""
    if not folder.exists():
        rng = Random(7)
        for suffix, share, make in KINDS:
            for number in range(files * share // 100):
                path = folder / f"package_{number % 60}" / f"{suffix}_{number}.{suffix}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(make(rng, number), encoding="utf-8")
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measured(name: str, *args: str | Path) -> Cost:
    """Run `kvaudit lint` several times and print the medians."""
    command = [sys.executable, "-m", "kvaudit", "lint", "--exit-zero", "--isolated", *args]
    cost = median([run(command) for _ in range(RUNS)])
    print(f"{name:24} {cost.wall_s:7.2f} s  {cost.cpu_s:7.2f} CPU s  {cost.peak_mb:6.0f} MB")
    return cost


def main() -> None:
    """Make the tree and measure."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--work", type=Path, required=True, help="folder for the tree")
    options.add_argument("--files", type=int, default=5000, help="files of the tree")
    given = options.parse_args()
    tree = given.work / f"tree-{given.files}"
    size = make_tree(tree, given.files)
    print(f"{given.files:,} files, {size / 1e6:.1f} MB")
    template = next(tree.rglob("*.j2"))
    measured("one template, cold", "--format", "json", template)
    measured("the tree", "--format", "json", tree)


if __name__ == "__main__":
    main()
