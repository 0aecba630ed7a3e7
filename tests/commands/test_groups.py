"""Groups of options: Typer sees each field, the command gets the whole."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from kvaudit.commands.groups import grouped


@dataclass(frozen=True, kw_only=True)
class Colours:
    front: Annotated[str, typer.Option(help="Colour of the letters.")] = "black"
    shades_: Annotated[list[int] | None, typer.Option("--shade")] = None


@grouped
def paint(wall: str, *, colours: Colours, coats: int = 1) -> None:
    """Paint a wall."""
    typer.echo(f"{wall} {colours.front} {colours.shades_} {coats}")


def called(*args):
    app = typer.Typer()
    app.command()(paint)
    return CliRunner().invoke(app, args)


@pytest.mark.parametrize(
    ("args", "printed"),
    [
        (["east"], "east black None 1\n"),
        (["east", "--front", "red", "--shade", "3", "--shade", "4"], "east red [3, 4] 1\n"),
        (["--coats", "2", "east"], "east black None 2\n"),
    ],
)
def test_fields_are_options_and_reach_the_command_whole(args, printed):
    assert called(*args).stdout == printed


def test_help_shows_the_fields():
    shown = called("--help").stdout
    assert "Paint a wall." in shown
    assert "Colour of the letters." in shown


def test_two_options_of_one_name_are_a_mistake_of_the_command():
    def clash(front: str, *, colours: Colours) -> None: ...

    with pytest.raises(ValueError, match="front"):
        grouped(clash)


def test_an_option_of_a_group_must_have_a_default():
    @dataclass
    class Bare:
        width: int

    def needs(bare: Bare) -> None: ...

    needs.__annotations__ = {"bare": Bare}
    with pytest.raises(AssertionError, match="width"):
        grouped(needs)
