"""Tiny logs for the cache models: how tests write one, and how hypothesis draws one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from kvaudit.core.prompts import PromptBatch


@dataclass(frozen=True)
class Line:
    """One request; ``unknown`` more tokens were generated than the log holds."""

    prompt: tuple[int, ...]
    output: tuple[int, ...] = ()
    unknown: int = 0
    namespace: int = 0


def batch(lines: Sequence[Line], *, unit_tokens: int = 1) -> PromptBatch:
    units = [np.array(line.prompt + line.output, np.int32) for line in lines]
    prompt_units = np.array([len(line.prompt) for line in lines], np.int64)
    namespaces = np.array([line.namespace for line in lines], np.int32)
    outputs = [len(line.output) * unit_tokens + line.unknown for line in lines]
    return PromptBatch(
        requests=(),
        units=np.concatenate([np.empty(0, np.int32), *units]),
        offsets=np.cumsum([0, *map(len, units)], dtype=np.int64),
        prompt_units=prompt_units,
        unit_tokens=np.full(len(lines), unit_tokens, np.int64),
        prompt_tokens=prompt_units * unit_tokens,
        output_tokens=np.array(outputs, np.int64),
        namespaces=namespaces,
        namespace_names=[str(n) for n in range(namespaces.max(initial=-1) + 1)],
    )


def _runs(max_size: int) -> st.SearchStrategy[tuple[int, ...]]:
    # Two values and short runs, so that shared prefixes are common.
    return st.lists(st.integers(0, 1), max_size=max_size).map(tuple)


_lines = st.builds(
    Line,
    prompt=_runs(9),
    output=st.just(()) | _runs(5),
    unknown=st.sampled_from([0, 0, 1, 4]),
    namespace=st.sampled_from([0, 0, 0, 1]),
)


@st.composite
def logs(draw: st.DrawFn, max_lines: int = 24) -> list[Line]:
    """A log in which some requests repeat an earlier prompt or continue from its answer."""
    lines: list[Line] = []
    for line in draw(st.lists(_lines, max_size=max_lines)):
        kind = draw(st.sampled_from(["new", "new", "again", "next turn"])) if lines else "new"
        earlier = lines[draw(st.integers(0, len(lines) - 1))] if lines else line
        if kind == "again":
            line = replace(earlier, output=line.output, unknown=line.unknown)
        elif kind == "next turn":
            history = earlier.prompt + earlier.output
            line = replace(line, prompt=history + line.prompt[:4], namespace=earlier.namespace)
        lines.append(line)
    return lines


@st.composite
def retries(draw: st.DrawFn) -> list[Line]:
    """A log of few prompts that come again and again, so that blocks are computed twice."""
    prompts = draw(st.lists(_runs(4), min_size=2, max_size=3))
    return [Line(prompt) for prompt in draw(st.lists(st.sampled_from(prompts), max_size=24))]


def halves(lines: Sequence[Line]) -> list[Sequence[Line]]:
    """The log in two batches, so that state has to survive from one to the next."""
    return [lines[: len(lines) // 3], lines[len(lines) // 3 :]]
