"""Commands made of functions; every declared option is one of a command."""

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, get_args, get_origin

import click
import pytest
from click.testing import CliRunner
from trainlaw.app.cli import app, command_line
from trainlaw.app.commands import options
from trainlaw.app.commands.parsing import GivenOptions, command_of, examples, first_options
from trainlaw.app.inputs.declared import Declared, argument, check_limits, flag, option
from trainlaw.formulas import InputError

from ...commands import invoke


class Colour(StrEnum):
    red = "red"
    blue = "blue"


@dataclass(frozen=True)
class Settings:
    """A group of options."""

    size: int = option("A size.", default=3, min=1, max=9)
    name: str = option("A name.", default="n")
    files: tuple[str, ...] = option("A file.", "--file", default=(), file="file")
    loud: bool = flag("Loud.", "--loud")


def printed(function, *words):
    """What a command prints, and its exit status."""
    result = CliRunner().invoke(command_of(function, "test"), words)
    return result.output.strip(), result.exit_code


def test_parameters_are_options_of_their_type():
    def run(
        path: Path = argument("A path.", default=...),
        numbers: list[int] | None = option("A number.", "--number"),
        colour: Colour = option("A colour.", default=Colour.red),
        settings: Settings = None,
    ) -> None:
        print(path.name, numbers, repr(colour), settings)

    assert printed(run, "a/b", "--number", "1", "--number", "2", "--colour", "blue", "--size", "4") == (
        f"b [1, 2] {Colour.blue!r} {Settings(size=4)}",
        0,
    )
    assert (
        printed(run)[1] == printed(run, "a", "--size", "10")[1] == printed(run, "a", "--colour", "x")[1] == 2
    )


def test_only_what_was_given_reaches_a_definition():
    def run(asked: Annotated[dict, GivenOptions(Settings, ("size", "files", "loud"))]) -> None:
        print(asked)

    assert printed(run)[0] == "{}"
    assert printed(run, "--size", "3", "--file", "x")[0] == "{'size': 3, 'files': [PosixPath('x')]}"
    assert printed(run, "--name", "x")[1] == 2


def test_help_shows_arguments_types_limits_and_defaults():
    def run(path: Path = argument("A path.", default="here"), settings: Settings = None) -> None:
        """Do it."""

    text, _ = printed(run, "--help")
    assert "path  A path.  [default: here]" in text and "Do it." in text
    assert "--size <number>  A size.  [default: 3; 1<=x<=9]" in text and "--file <file>" in text


def test_limits_hold_for_python_too():
    with pytest.raises(InputError, match="where: size: expected 1 to 9, got 10"):
        check_limits(Settings(size=10), "where")


def test_every_declared_option_is_one_of_a_command():
    texts = {
        getattr(parameter, "help", None) or getattr(parameter, "text", "")
        for command in app.commands.values()
        for part in (command, *getattr(command, "commands", {}).values())
        for parameter in part.params
    }
    rows = [get_args(row)[1] for row in vars(options).values() if get_origin(row) is Annotated]
    assert rows and all(isinstance(row, Declared) for row in rows)
    assert not [row.text for row in rows if row.text not in texts]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("scaling --gpu RTX", "RTX 3090"),
        ("plan --cnn eff", "efficientnet_b0"),
        ("plan --gpu p4d", "p4d"),
        ("predict --precision am", "amp"),
        ("predict --fabric infiniband-n", "infiniband-ndr"),
        ("predict --algorithm tr", "tree"),
    ],
)
def test_values_are_completed(words, found, monkeypatch, in_empty_folder):
    variables = {"_TRAINLAW_COMPLETE": "bash_complete", "COMP_WORDS": f"trainlaw {words}", "COMP_CWORD": "3"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert found in CliRunner().invoke(app, [], prog_name="trainlaw").output


def options_of(*words):
    """The options that a page of help lists, by their first name."""
    listed = invoke(*words).output.partition("Options:")[2]
    return re.findall(r"^  (-[\w-]+)", listed, re.MULTILINE)


def commands_of(command, *path):
    if not isinstance(command, click.Group):
        return [path]
    return [found for name, each in command.commands.items() for found in commands_of(each, *path, name)]


def test_examples_are_those_of_commands():
    pages = {path: invoke(*path, "--help").output for path in commands_of(command_line())}
    assert [path for path, page in pages.items() if f"trainlaw {' '.join(path)}" not in page] == []
    titles = re.findall(r"^Examples?:|^  Examples?:", "".join(pages.values()), re.MULTILINE)
    assert len(titles) == len(examples()) == len(list(commands_of(command_line())))


def test_the_first_page_of_help_has_ten_options_and_twenty_commands():
    pages = {path: options_of(*path, "--help") for path in commands_of(command_line())}
    assert max(map(len, pages.values())) <= 10
    for name, first in first_options().items():
        (path,) = [path for path in pages if path[-1] == name]
        every = options_of(*path, "--help-all")
        assert pages[path][: len(first)] == list(first) and {*first} < {*every} and len(every) > 10
    commands = invoke("--help").output.partition("Commands:")[2].partition("Examples")[0]
    listed = re.findall(r"^  (\w[\w-]+)", commands, re.MULTILINE)
    assert 10 < len(listed) <= 20 and "warmup" not in listed and "warmup" in invoke("--help-all").output
