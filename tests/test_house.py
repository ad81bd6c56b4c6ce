"""Holds the checkout to its own rules: layout, sizes, imports, doctests, installation."""

import ast
import doctest
import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from .rows import each_row
from .syntax import code_in, nodes, parsed

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("formulas", "datasets", "evolve", "validate", "app")
SOURCES = code_in(*FOLDERS)
ENVIRONMENT = {**os.environ, "PYTHONSAFEPATH": "1"}

# Written by tools/kernels.py from the operator table: one branch per operator, never edited.
GENERATED = frozenset({"evolve/machine/kernels.py"})


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """Return the installed name; the folder `app/facade` is the package `trainlaw` itself."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[2:] if parts[:2] == ("app", "facade") else parts
    return ".".join(("trainlaw", *(parts[:-1] if parts[-1] == "__init__" else parts)))


def functions(path: Path):
    return (node for node in nodes(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def body_lines(function: ast.FunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def code_lines(path: Path) -> int:
    """Lines that hold code: no blank lines, comments or docstrings."""
    text = path.read_text(encoding="utf-8")
    documented = set()
    for node in nodes(path):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    lines = enumerate(text.splitlines(), start=1)
    return sum(
        1
        for number, line in lines
        if line.strip() and not line.strip().startswith("#") and number not in documented
    )


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def shared_randomness(written: Iterable[ast.AST]) -> list[str]:
    """Uses of the interpreter's or numpy's own random state, which any other code may move."""
    found = []
    for node in written:
        if isinstance(node, ast.Import):
            found += [item.name for item in node.names if item.name.split(".")[-1] == "random"]
        elif isinstance(node, ast.ImportFrom) and node.module in ("random", "numpy.random"):
            allowed = {"Random", "Generator", "default_rng"}
            found += [item.name for item in node.names if item.name not in allowed]
        elif isinstance(node, ast.Attribute) and getattr(node.value, "attr", "") == "random":
            numpys = getattr(node.value.value, "id", "") in ("np", "numpy")
            found += [node.attr] if numpys and node.attr not in {"Generator", "default_rng"} else []
        elif isinstance(node, ast.Call) and called_name(node) == "default_rng":
            found += [] if node.args else ["default_rng()"]
    return found


def called_name(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


@pytest.mark.parametrize(
    "text", ["import random", "from random import choice", "np.random.seed(1)", "np.random.default_rng()"]
)
def test_shared_randomness_is_found(text):
    assert shared_randomness(ast.walk(ast.parse(text)))


def test_every_draw_is_from_a_generator_with_a_seed():
    draws = {relative(path): shared_randomness(nodes(path)) for path in SOURCES}
    assert {name: found for name, found in draws.items() if found} == {}


def test_a_test_of_many_rows_names_each_that_fails():
    @each_row("number", range(5))
    def check(number):
        assert number % 2 == 0

    with pytest.raises(ExceptionGroup, match="2 rows fail") as caught:
        check()
    assert [fault.__notes__ for fault in caught.value.exceptions] == [
        [f"of the row {{'number': {number}}}"] for number in (1, 3)
    ]


def test_packages_list_equals_folders():
    folders = {module_name(path) for path in SOURCES if path.name == "__init__.py"}
    assert sorted(settings()["tool"]["setuptools"]["packages"]) == sorted(folders)


def test_every_folder_of_code_is_a_package():
    homeless = {relative(path.parent) for path in SOURCES if not (path.parent / "__init__.py").is_file()}
    assert not homeless


def test_files_are_short_enough_to_live_in():
    sizes = {relative(path): code_lines(path) for path in SOURCES if relative(path) not in GENERATED}
    assert {name: size for name, size in sizes.items() if size > 500} == {}


def test_functions_are_short():
    written = [path for path in SOURCES if relative(path) not in GENERATED]
    sizes = {
        f"{relative(path)}:{node.name}": body_lines(node) for path in written for node in functions(path)
    }
    assert {name: size for name, size in sizes.items() if size > 40} == {}
    assert sum(size <= 25 for size in sizes.values()) >= 0.9 * len(sizes)


def public_nodes(path: Path):
    """Public classes and functions at module level, and public methods of public classes."""
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            if any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list):
                continue  # the implementation below the overloads is documented
            yield node
            if isinstance(node, ast.ClassDef):
                yield from (
                    m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")
                )


def documentation_faults(node):
    if not ast.get_docstring(node):
        yield "no docstring"
    if isinstance(node, ast.FunctionDef):
        named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        yield from (a.arg for a in named if a.annotation is None and a.arg not in ("self", "cls"))
        if node.returns is None:
            yield "-> ?"


def test_public_names_are_documented_and_annotated():
    faults = [
        f"{relative(path)}:{node.name}: {fault}"
        for path in SOURCES
        for node in public_nodes(path)
        for fault in documentation_faults(node)
    ]
    assert faults == []


def test_no_public_function_bears_its_modules_name():
    """An import must not be able to mean two things."""
    ambiguous = [
        relative(path)
        for path in SOURCES
        if path.is_relative_to(ROOT / "app")
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == path.stem
    ]
    assert ambiguous == []


def test_no_two_public_classes_have_one_name():
    names = [node.name for path in SOURCES for node in parsed(path).body if isinstance(node, ast.ClassDef)]
    assert not [name for name, count in Counter(names).items() if count > 1 and not name.startswith("_")]


def test_every_exported_name_exists():
    for path in SOURCES:
        if "\n__all__ = " in path.read_text(encoding="utf-8"):
            module = importlib.import_module(module_name(path))
            assert [name for name in module.__all__ if not hasattr(module, name)] == [], module.__name__


def bound_names(path: Path):
    for node in parsed(path).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name))


def test_no_name_of_a_module_is_bound_twice():
    # The later value would silently serve the functions above it, too.
    bound = Counter((relative(path), name) for path in SOURCES for name in bound_names(path) if name != "_")
    assert [place for place, times in bound.items() if times > 1] == []


def test_no_path_of_a_machine_in_tracked_files():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so the tracked files are not known")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    places = re.compile(r"(?<![\w.])/(?:work|home|root|Users)/[\w.]|\.\./" + "shared")
    named = [
        name
        for name in listed
        if name.endswith((".py", ".md", ".toml", ".cff", ".html", ".cfg", "run"))
        and (ROOT / name).is_file()
        and places.search((ROOT / name).read_text(encoding="utf-8"))
    ]
    assert named == []


def test_the_list_of_slow_tests_names_tests():
    gone = []
    for line in (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines():
        file, _, name = line.partition("::")
        if not (ROOT / file).is_file() or name not in (ROOT / file).read_text(encoding="utf-8"):
            gone.append(line)
    assert gone == []


def test_nothing_executes_text():
    forbidden = {"eval", "exec", "sympify", "parse_expr"}
    calls = []
    for path in SOURCES:
        for node in nodes(path):
            if isinstance(node, ast.Call):
                if called_name(node) in forbidden:
                    calls.append(f"{relative(path)}:{node.lineno} {called_name(node)}")
            if isinstance(node, ast.Import) and any(alias.name == "pickle" for alias in node.names):
                calls.append(f"{relative(path)}:{node.lineno} pickle")
    # The machine of evolve is generated from the operator table, never from input (docs/decisions/0003).
    assert [call for call in calls if not call.startswith("evolve/")] == []


def tool(name: str) -> str:
    """Return the path of a command of the extra `test`."""
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    found = shutil.which(name, path=places)
    assert found, f"{name} is part of the extra 'test'"
    return found


def test_imports_keep_the_contracts(installed_tree):
    done = subprocess.run(
        [tool("lint-imports"), "--config", str(ROOT / ".importlinter"), "--no-cache"],
        capture_output=True,
        text=True,
        env={**ENVIRONMENT, "PYTHONPATH": str(installed_tree)},
        cwd=installed_tree,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("folder", FOLDERS)
def test_examples_in_docstrings_run(folder):
    failed = {}
    for path in SOURCES:
        if path.is_relative_to(ROOT / folder):
            try:
                module = importlib.import_module(module_name(path))
            except ImportError as error:  # a module that needs torch, which the extra `test` does not bring
                assert error.name == "torch", error
                continue
            failed[relative(path)] = doctest.testmod(module).failed
    assert [path for path, count in failed.items() if count] == []


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_formulas_is_light_to_import():
    loaded = run_python(
        "import sys, trainlaw.formulas; print(*sorted({n.split('.')[0] for n in sys.modules}))"
    ).split()
    assert {"deap", "pandas", "sympy", "numba"}.isdisjoint(loaded)


def test_help_imports_no_large_package():
    """Start-up times are measured by `python -m benchmarks.start_up`; here is what makes them short."""
    loaded = run_python(
        "import sys\nfrom trainlaw.app.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print(*sorted({n.split('.')[0] for n in sys.modules}))"
    ).splitlines()[-1]
    assert {"deap", "pandas", "sympy", "numba", "sklearn", "torch"}.isdisjoint(loaded.split())


@pytest.mark.parametrize(
    ("command", "threads", "file"), [("cnn", "1", "catalogs"), ("study", "None", "studies")]
)
def test_a_command_loads_its_file_and_no_threads_that_it_does_not_need(command, threads, file):
    printed = run_python(
        "import os, sys\nfrom trainlaw.app.cli import main\n"
        f"os.environ.pop('OPENBLAS_NUM_THREADS', None)\nsys.argv[1:] = ['{command}', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        "files = sorted(name for name in sys.modules if name.startswith('trainlaw.app.commands.'))\n"
        "print(os.environ.get('OPENBLAS_NUM_THREADS'), *files)"
    ).splitlines()[-1]
    assert set(printed.split()) == {
        threads,
        *(f"trainlaw.app.commands.{name}" for name in (file, "options", "parsing")),
    }


def test_readme_has_its_two_commands_and_one_of_them_on_the_first_screen():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    first, second = (line for line in lines if line.startswith("    python3 -m venv"))
    assert first.endswith("trainlaw study") and lines.index(first) < 40
    assert "pytest" in second


def test_works_beside_packages_of_the_same_names(installed_tree, tmp_path):
    """PyPI has top-level modules `datasets` and `formulas`: neither they nor we may shadow the other."""
    for name in ("datasets", "formulas"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(installed_tree)!r}]\n"
        "import datasets, formulas, trainlaw.formulas, trainlaw.datasets\n"
        "print(datasets.__file__, formulas.__file__, trainlaw.formulas.__file__)"
    )
    others = [tmp_path / name for name in ("datasets", "formulas")]
    places = [*others, installed_tree / "trainlaw" / "formulas"]
    assert run_python(code).split() == [str(place / "__init__.py") for place in places]
