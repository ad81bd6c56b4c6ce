"""Messages of commands for callers in Python: options become arguments."""

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from trainlaw.formulas.errors import TrainlawError

# Advice that names no value, as a call has it.
_PHRASES = (
    (re.compile(r"Leave it out with --ignore \S+"), "Drop the column"),
    (re.compile(r"or --trust them as they are"), "or pass trust=True"),
    (re.compile(r"\(or (?:name )?--from FILE\)"), "(or a frame)"),
    (re.compile(r"--formula (\w+)(?= or another)"), r'formula="\1"'),
    (re.compile(r"your own network: --cnn net\.onnx"), 'your own network: cnn="net.onnx"'),
)
# Arguments that are not called as their option, with - as _.
_ARGUMENTS = {
    "gpus": "n_gpus",
    "nodes": "n_nodes",
    "unbucketed": "bucketed=False",
    "host-launch": "host_launch_s",
    "forward": 'timed_parts="forward"',
    "overwrite": "overwrite=True",
    "bare": "bare=True",
    "surely": "surely=True",
    "trust": "trust=True",
    "out": "into",
}
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])\b")
_P = ParamSpec("_P")
_T = TypeVar("_T")


def in_python(message: str) -> str:
    """Return a message with the names of arguments in place of options.

    >>> in_python("--link connects the GPUs of one node: use more --gpus than --nodes")
    'link connects the GPUs of one node: use more n_gpus than n_nodes'
    """
    for pattern, said in _PHRASES:
        message = pattern.sub(said, message)
    return _OPTION.sub(lambda found: _ARGUMENTS.get(found[1], found[1].replace("-", "_")), message)


def naming_arguments(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Return a function whose errors name its arguments rather than options of a command."""

    @wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            return function(*args, **kwargs)
        except TrainlawError as error:
            error.args = (in_python(str(error)), *error.args[1:])
            raise

    return called
