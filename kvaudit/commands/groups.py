"""Options in groups: a dataclass of options that a command takes as one parameter.

Commands that read logs share some twenty options. Spelled as parameters they would be passed
on one by one in every command; as a dataclass whose fields are Typer options they are spelled
once and handed on whole.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from inspect import Parameter, Signature
from typing import Any, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with each field of its groups as a parameter of its own, for Typer.

    A group is a parameter whose type is a dataclass. Every field needs a default, and no two
    parameters of a command may have the same name.
    """
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return", None)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, given in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _of_group(groups[name])
        else:
            parameters.append(given.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def flat(**values: Any) -> None:
        whole = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **whole)

    flat.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    flat.__annotations__ = {each.name: each.annotation for each in parameters}
    return flat


def _of_group(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    parameters = []
    for field in fields(group):
        assert field.default is not MISSING, f"option {field.name} of a group has no default"
        parameters.append(
            Parameter(
                field.name,
                Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=hints[field.name],
            )
        )
    return parameters
