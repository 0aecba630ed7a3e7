"""Writes what the documentation shows of kvaudit anew, from kvaudit itself.

    python docs/refresh.py            rewrite what is out of date
    python docs/refresh.py --check    say what is, and exit 1

Three things are made here. In any page, a fence that opens with ```` ```console run ```` holds
commands after ``$`` and what they print; all such fences of a page run in one empty folder, one
after the other, as on a terminal of 80 columns without colour. A region between
``<!-- made: NAME -->`` and ``<!-- end -->`` holds what the function of that name returns. And
``docs/commands.md`` is the command line's own reference.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = ROOT / "docs" / "commands.md"
FENCE = re.compile(r"^```console run\n(.*?)^```$", re.DOTALL | re.MULTILINE)
REGION = re.compile(r"^<!-- made: (\w+) -->\n(.*?)^<!-- end -->$", re.DOTALL | re.MULTILINE)
# What `make demo` runs once .venv is there; running make here would install a second time.
STANDS_FOR = {"make demo": "kvaudit demo"}


def pages() -> list[Path]:
    """Return the pages that may show commands or made regions."""
    return [ROOT / "README.md", ROOT / "rules" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def refreshed(page: Path) -> str:
    """Return a page as it should be."""
    if page == COMMANDS:
        return command_reference()
    text = page.read_text(encoding="utf-8")
    if FENCE.search(text):
        with tempfile.TemporaryDirectory() as folder:
            environment = terminal(Path(folder))
            work = Path(folder, "work")
            work.mkdir()
            text = FENCE.sub(lambda fence: run_fence(fence[1], work, environment), text)
    return REGION.sub(lambda m: f"<!-- made: {m[1]} -->\n{MADE[m[1]]()}\n<!-- end -->", text)


def terminal(folder: Path) -> dict[str, str]:
    """Return the environment of a plain terminal on which ``kvaudit`` is this checkout's."""
    command = folder / "bin" / "kvaudit"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kvaudit "$@"\n')
    command.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KVAUDIT_")}
    return kept | {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONUTF8": "1",
        "COLUMNS": "80",
        "NO_COLOR": "1",
        "KVAUDIT_FORMAT": "full",
    }


def run_fence(body: str, folder: Path, environment: dict[str, str]) -> str:
    """Return the fence with what its commands print today."""
    lines = []
    for command in re.findall(r"^\$ (.*)$", body, re.MULTILINE):
        done = subprocess.run(
            ["sh", "-c", STANDS_FOR.get(command, command)],
            cwd=folder,
            # A reader's pipe is no terminal either: kvaudit prints something else into it.
            env=environment | ({"KVAUDIT_FORMAT": "concise"} if " | " in command else {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        # 1 is a missed budget, which a page may show; output like a command would be run next time.
        if done.returncode > 1 or done.stdout.startswith("$ ") or "\n$ " in done.stdout:
            raise SystemExit(f"{command} cannot be shown:\n{done.stdout}")
        lines.append(f"$ {command}\n{done.stdout}")
    return "```console run\n" + "\n".join(line.rstrip("\n") for line in lines) + "\n```"


def command_reference() -> str:
    """Return every command with its options, from the application."""
    made = subprocess.run(
        [sys.executable, "-m", "typer", "kvaudit.cli", "utils", "docs", "--name", "kvaudit"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1", "TERMINAL_WIDTH": "200"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return f"<!-- Made by `make docs`; change the code instead. -->\n\n{made.stdout.rstrip()}\n"


def formats() -> str:
    """Return the table of log formats."""
    from kvaudit.logs.registry import all_formats

    rows = [f"| `{format.name}` | {format.title} |" for format in all_formats()]
    return "\n".join(["| `--input-format` | what it is |", "|---|---|", *rows])


def faults() -> str:
    """Return the table of faults that example logs may have."""
    from kvaudit.traffic.registry import all_faults

    rows = [f"| `{fault.name}` | {fault.title} |" for fault in all_faults().values()]
    return "\n".join(["| `--fault` | what every prompt then has |", "|---|---|", *rows])


def readers() -> str:
    """Return the table of kinds of file that are linted."""
    from kvaudit.analyzers.reader import all_readers

    rows = [
        f"| `{reader.name}` | {reader.title} | {' '.join(f'`{end}`' for end in reader.suffixes)} |"
        for reader in all_readers()
    ]
    return "\n".join(["| reader | what it reads | files |", "|---|---|---|", *rows])


def semantic_products() -> str:
    """Return the table of products with a semantic cache, and what their limits mean."""
    from kvaudit.analyzers.semantic.products import all_products
    from kvaudit.core.scales import SCALES

    rows = {}
    for product in all_products():
        title = product.title.removesuffix("'s semantic cache").removesuffix("'s cache")
        if not product.scale:
            continue
        scale = SCALES[product.scale]
        own = "none"
        if product.default is not None:
            own = f"{product.default:g}: cosine {scale.to_cosine(product.default):.2f}"
        limit = ", ".join(f"`{name.rpartition('.')[2]}`" for name in product.threshold[:1])
        rows.setdefault((title, scale.meaning), f"| {title} | {limit} | {scale.meaning} | {own} |")
    head = [
        "| product | its limit | what that measures | where none is given |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *sorted(rows.values(), key=str.lower)])


def checks() -> str:
    """Return the table of checks that a rule may name, with what each is told."""
    from kvaudit.analyzers.check import all_checks
    from kvaudit.analyzers.observations import KINDS

    rows = []
    for name, known in all_checks().items():
        rows.append(f"| `{name}` | | {known.what} |")
        for key, parameter in known.parameters.items():
            words = ", ".join(f"`{word}`" for word in parameter.words)
            said = [parameter.what, "needed"] if parameter.needed else [parameter.what]
            if parameter.words:
                said.append("see below" if parameter.words is KINDS else words)
            rows.append(f"| | `{key}` | {'; '.join(said)} |")
    return "\n".join(
        ["| `check` | `[params]` | what it finds, what it decides |", "|---|---|---|", *rows]
    )


def observations() -> str:
    """Return the table of what readers observe, which rules name under ``kinds``."""
    from kvaudit.analyzers.observations import KINDS

    rows = [f"| `{kind}` | {what} |" for kind, what in KINDS.items()]
    return "\n".join(["| `kinds` | what a reader saw |", "|---|---|", *rows])


def fixers() -> str:
    """Return the names of the fixers."""
    from kvaudit.analyzers.fixers import all_fixers

    return "Fixers: " + ", ".join(f"`{name}`" for name in all_fixers()) + "."


def figures() -> str:
    """Return the table of figures that a gate can hold against a limit."""
    from kvaudit.core.gate_figures import FIGURES

    rows = [
        f"| `{'--fail-over' if figure.at_most else '--fail-under'} {figure.name}=` "
        f"| {figure.unit.value} | {figure.what} | {', '.join(f'`{k}`' for k in figure.read)} |"
        for figure in FIGURES.values()
    ]
    return "\n".join(["| limit | in | what it is | runs of |", "|---|---|---|---|", *rows])


def models() -> str:
    """Return a table of the models of the catalogue."""
    from kvaudit.cost.catalogue import catalogue, load_model_shape

    rows = [
        "| `--model` | parameters | a token uses | KV a token | weights |",
        "|---|---|---|---|---|",
    ]
    entries: dict[str, list[str]] = {}
    for name, entry in catalogue().items():
        entries.setdefault(entry.source + repr(entry.config), []).append(name)
    for names in entries.values():
        shape = load_model_shape(names[0])
        work, stored = shape.work(), shape.weight_format()
        rows.append(
            f"| {', '.join(f'`{name}`' for name in names)} | {work.weights / 1e9:,.1f} B "
            f"| {work.active_weights / 1e9:,.1f} B | {shape.kv_bytes_per_token:,} B "
            f"| {stored.bytes_of(work) / 1e9:,.1f} GB {stored.name} |"
        )
    return "\n".join(rows)


def families() -> str:
    """Return the families whose layers are known."""
    from kvaudit.cost.families import families

    return ", ".join(f"`{name}`" for name in sorted(families()))


def accelerators() -> str:
    """Return a table of the accelerators."""
    from kvaudit.cost.accelerators import accelerators

    rows = [
        "| `--accelerator` | | TFLOP/s, 16 bits | 8 bits | memory | bandwidth | host link |",
        "|---|---|---|---|---|---|---|",
    ]
    for each in dict.fromkeys(accelerators().values()):
        small = "-" if each.flops_8_bit is None else f"{each.flops_8_bit / 1e12:,.0f}"
        rows.append(
            f"| `{each.name}` | {each.title} | {each.flops_16_bit / 1e12:,.0f} | {small} "
            f"| {each.memory_bytes / 2**30:,.0f} GiB | {each.memory_bandwidth / 1e9:,.0f} GB/s "
            f"| {each.host_bandwidth / 1e9:,.0f} GB/s |"
        )
    return "\n".join(rows)


MADE: dict[str, Callable[[], str]] = {
    "readers": readers,
    "semantic_products": semantic_products,
    "checks": checks,
    "observations": observations,
    "fixers": fixers,
    "figures": figures,
    "formats": formats,
    "faults": faults,
    "models": models,
    "families": families,
    "accelerators": accelerators,
}


def main() -> int:
    """Rewrite or check every page."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--check", action="store_true", help="change nothing; exit 1 if stale")
    check = arguments.parse_args().check
    stale = 0
    for page in pages():
        old, new = page.read_text(encoding="utf-8"), refreshed(page)
        if old == new:
            continue
        stale += 1
        name = str(page.relative_to(ROOT))
        difference = difflib.unified_diff(
            old.splitlines(keepends=True), new.splitlines(keepends=True), name, f"{name} (today)"
        )
        sys.stdout.writelines(difference)
        if not check:
            page.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
