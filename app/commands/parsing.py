"""Commands made of functions: their parameters are the options, their docstrings the help."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import click
from trainlaw.app.inputs.declared import Declared, declared_of
from trainlaw.formulas.files.toml_tables import toml_table

_WHOLE = 1_000  # letters, which no first sentence has
_METAVARS = {str: "text", int: "number", float: "number", Path: "path"}


@dataclass(frozen=True)
class GivenOptions:
    """The type of a parameter that gets the given options by name.

    kind : a dataclass, whose fields are the options. names : of those that the command has, () for all.
    """

    kind: type
    names: tuple[str, ...] = ()

    def parameters(self) -> "Iterator[_Parameter]":
        """Yield the options, none of which has a default."""
        for each in _fields(self.kind):
            if not self.names or each.name in self.names:
                is_many = get_origin(each.kind) is tuple
                kind = Path if each.declared.file else str if is_many else each.kind
                kind = list[Path] if is_many and each.declared.file else kind
                yield replace(each, kind=kind, default=False if kind is bool else None)


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a command; kind : its type, without None. default : `...` where it must be given."""

    name: str
    kind: Any
    declared: Declared
    default: Any

    @classmethod
    def of(cls, name: str, annotation: Any, default: Any) -> "_Parameter":
        """Return the parameter of a signature or the field of a dataclass, declared by type or default."""
        declared = declared_of(default)
        if get_origin(annotation) is Annotated:
            annotation, declared = get_args(annotation)
        if declared is None:
            raise TypeError(f"expected {name} to be declared as an option or an argument")
        default = getattr(default, "default", default)
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        kind = kinds[0] if NoneType in get_args(annotation) else annotation
        return cls(name, kind, declared, ... if default in (MISSING, inspect.Parameter.empty) else default)

    def made(self) -> click.Parameter:
        """Return the parameter for click."""
        is_list = get_origin(self.kind) is list
        kind = get_args(self.kind)[0] if is_list else self.kind
        declared, is_required = self.declared, self.default is ...
        given: dict[str, Any] = {"required": True} if is_required else {"default": self.default}
        if kind is not bool:
            given["type"] = _click_type(kind, declared)
        if declared.is_argument:
            return _Argument([self.name], text=declared.text, **given)
        if kind is bool:
            given["is_flag"] = True
        else:
            usual = "|".join(kind) if _is_enum(kind) else declared.file or _METAVARS[kind]
            given["metavar"] = f"<{declared.metavar or usual}>"
            given["show_default"] = not is_required and self.default not in (None, "")
        if declared.complete is not None:
            complete = declared.complete
            given["shell_complete"] = lambda context, parameter, begun: complete(begun)
        names = declared.names or (f"--{self.name.replace('_', '-')}",)
        return click.Option([self.name, *names], help=declared.text, multiple=is_list, **given)

    def taken(self, value: Any) -> Any:
        """Return what the command gets for a value of click."""
        if self.declared.limit and value is not None:
            from trainlaw.datasets.files.limits import check_limit

            names = self.declared.names or (f"--{self.name.replace('_', '-')}",)
            check_limit(self.declared.limit, value, names[0])
        if get_origin(self.kind) is list:
            return list(value) or None
        return self.kind(value) if _is_enum(self.kind) else value


def _is_enum(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, Enum)


def _click_type(kind: Any, declared: Declared) -> Any:
    if _is_enum(kind):
        return click.Choice(list(map(str, kind)))
    if kind is Path:
        is_folder = declared.file == "folder"
        return click.Path(
            exists=is_folder, file_okay=not is_folder, dir_okay=declared.file != "file", path_type=Path
        )
    if (declared.min, declared.max) == (None, None):
        return kind
    number: Any = click.IntRange if kind is int else click.FloatRange
    return number(declared.min, declared.max)


class _Argument(click.Argument):
    """An argument with a help, in every release of click."""

    def __init__(self, names: list[str], text: str, **given: Any) -> None:
        super().__init__(names, **given)
        self.text = text

    def help_row(self) -> tuple[str, str]:
        """Return the name and the help, with the default or that it is required."""
        shown = "required" if self.required else f"default: {self.default}" if self.default else ""
        return str(self.name), f"{self.text}  [{shown}]" if shown else self.text


@cache
def examples() -> Mapping[str, Sequence[str]]:
    """Return the examples at the end of a command's help, by the name of its function."""
    return toml_table(__file__, "examples.toml")


def _help(function: Callable[..., None]) -> str:
    lines = examples().get(function.__name__, ())
    shown = "\n  ".join([f"\n\n\b\nExample{'s' * (len(lines) > 1)}:", *lines]) if lines else ""
    return f"{inspect.getdoc(function) or ''}{shown}"


@cache
def first_options() -> Mapping[str, Sequence[str]]:
    """Return the options on the first page of help, by command with more than ten of them."""
    return toml_table(__file__, "first_options.toml")


_ALL = "help of everything"  # names the wish in a context


def help_all() -> click.Option:
    """Return the option that prints the help with all options and commands."""

    def print_all(context: click.Context, option: click.Parameter, wanted: bool) -> None:
        if wanted:
            context.meta[_ALL] = True
            click.echo(context.get_help(), color=context.color)
            context.exit()

    settings: Any = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": print_all}
    return click.Option(["--help-all"], help="Show every option and command, and exit.", **settings)


class _Command(click.Command):
    """A command whose help lists its arguments above its options, and the rare ones after --help-all."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments, then the options."""
        parameters = self.get_params(ctx)
        arguments = [each.help_row() for each in parameters if isinstance(each, _Argument)]
        options = {each.opts[0]: each for each in parameters if isinstance(each, click.Option)}
        first = first_options().get(str(self.name))
        if first and _ALL not in ctx.meta:
            options = {name: options[name] for name in (*first, "--help-all", *options) if name in options}
            shown = {*first, "--help-all", "-h"}
            options = {name: each for name, each in options.items() if name in shown}
        records = [each.get_help_record(ctx) for each in options.values()]
        for title, rows in (("Arguments", arguments), ("Options", records)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl([row for row in rows if row])


def _fields(kind: Any) -> Iterator[_Parameter]:
    for each in fields(kind):
        yield _Parameter.of(each.name, each.type, each if declared_of(each) else each.default)


def _present(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value not in (None, False)}


def command_of(function: Callable[..., None], name: str) -> click.Command:
    """Return the command of a function; a dataclass among its parameters stands for all of its fields."""
    groups: dict[str, tuple[Any, tuple[str, ...]]] = {}
    parameters: list[_Parameter] = []
    for each in inspect.signature(function).parameters.values():
        given = next((part for part in get_args(each.annotation) if isinstance(part, GivenOptions)), None)
        if given is not None or is_dataclass(each.annotation):
            options = list(given.parameters() if given else _fields(each.annotation))
            groups[each.name] = _present if given else each.annotation, tuple(part.name for part in options)
            parameters += options
        else:
            parameters.append(_Parameter.of(each.name, each.annotation, each.default))

    def run(**given: Any) -> None:
        # Reading Parquet files alone needs pyarrow, which takes a tenth of a short command to load.
        if "pandas" not in sys.modules and "pyarrow" not in sys.modules:
            sys.modules["pyarrow"] = None  # type: ignore[assignment] # as if it were not installed
            import_module("pandas")
            del sys.modules["pyarrow"]
        taken = {each.name: each.taken(given[each.name]) for each in parameters}
        for group, (collected, names) in groups.items():
            taken[group] = collected(**{name: taken.pop(name) for name in names})
        function(**taken)

    made = [each.made() for each in parameters]
    made += [help_all()] if name in first_options() else []
    return _Command(name, callback=run, params=made, help=_help(function))


# The messages of click about the words of a command, and how they say what was expected and what was given.
_MESSAGES = (
    (r"No such command '(.*?)'.*", "expected a command of {0}, got '{1}'"),
    (r"Option '(.*)' requires an argument\.", "expected a value of {1}, got none"),
    (r"Option '(.*)' does not take a value\.", "expected {1} without a value, got one"),
    (r"Got unexpected extra arguments? \((.*)\)", "expected no further arguments of {0}, got {1}"),
)
_REFUSED = r"(.+) is not (?:a valid|in the range|one of) .*"


def usage_text(error: click.UsageError) -> str:
    """Return what a command expected and what it got, on one line; `trainlaw COMMAND --help` says more."""
    path = error.ctx.command_path if error.ctx else "trainlaw"
    if isinstance(error, click.NoSuchOption):
        near = f"; did you mean {' or '.join(error.possibilities)}?" if error.possibilities else ""
        return f"expected an option of {path}, got {error.option_name}{near}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = error.param.opts[-1]
        if isinstance(error, click.MissingParameter):
            return f"expected {name if name.startswith('-') else name.upper()} of {path}, got none"
        if refused := re.fullmatch(_REFUSED, error.message, re.DOTALL):
            return f"{name}: expected {_wanted(error.param.type)}, got {refused[1]}"
    message = error.format_message()
    for pattern, said in _MESSAGES:
        if found := re.fullmatch(pattern, message, re.DOTALL):
            return said.format(path, found[1])
    return f"{path}: {message[:1].lower()}{message[1:].rstrip('.')}"


def _wanted(kind: Any) -> str:
    if isinstance(kind, click.Choice):
        return f"one of {', '.join(map(str, kind.choices))}"
    noun = "a whole number" if isinstance(kind, type(click.INT)) else "a number"
    ends = (("at least", getattr(kind, "min", None)), ("at most", getattr(kind, "max", None)))
    limits = " and ".join(f"{word} {end:,.15g}" for word, end in ends if end is not None)
    return f"{noun} of {limits}" if limits else noun


class CommandGroup(click.Group):
    """A command that holds others, each made of a function."""

    def __init__(self, text: str, **further: Any) -> None:
        """Hold no command yet; text : the help. further : arguments of `click.Group`."""
        super().__init__(help=text, no_args_is_help=True, **further)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the whole first sentence of its help."""
        shown = {name: each for name, each in self.commands.items() if not each.hidden or _ALL in ctx.meta}
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in shown.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def takes(self, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Return a decorator that adds a function as the command of that name."""

        def added(function: Callable[..., None]) -> Callable[..., None]:
            self.add_command(command_of(function, name))
            return function

        return added
