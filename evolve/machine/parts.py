"""Compile functions that only compiled functions call once, in the function that Python calls.

numba links the code of a function into each of its callers, and optimises every copy and makes machine code
of it. Parts are linked as they are, so that LLVM optimises each of them once, where its callers end: a third
of the compilation is saved.
"""

from collections.abc import Callable
from typing import Any

from numba.core import codegen, compiler

# numba's types do not know its compiler.
Library: Any = codegen.JITCodeLibrary
Compiler: Any = compiler.Compiler


class _LinkedPart(Library):  # type: ignore[misc]
    """The code of a part; a numba that names these steps differently takes them, and more time."""

    def _optimize_final_module(self) -> None:
        """Leave the code as it is: the caller's is optimised whole."""

    def _finalize_final_module(self) -> None:
        """Make no machine code, which nothing would run."""
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """Where numba sets the environment of machine code, which a part has not."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Set no environment."""

    def get_pointer_to_function(self, name: str) -> int:
        """Return that of no function."""
        return 0


class PartCompiler(Compiler):  # type: ignore[misc]
    """numba's compiler, which makes a part."""

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """Compile a function into a part."""
        self.state.library = _LinkedPart(self.state.targetctx.codegen(), function.__qualname__)
        return super().compile_extra(function)
