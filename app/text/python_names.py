"""Messages of commands for callers in Python: options become arguments."""

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from trainlaw.formulas.errors import TrainlawError
from trainlaw.formulas.files.toml_tables import toml_table

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])\b")
_P = ParamSpec("_P")
_T = TypeVar("_T")


def in_python(message: str) -> str:
    """Return a message with the names of arguments in place of options.

    >>> in_python("--link connects the GPUs of one node: use more --gpus than --nodes")
    'link connects the GPUs of one node: use more n_gpus than n_nodes'
    """
    table = toml_table(__file__, "python_names.toml")
    for pattern, said in table["phrases"]:
        message = re.sub(pattern, said, message)
    return _OPTION.sub(lambda found: table["arguments"].get(found[1], found[1].replace("-", "_")), message)


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
