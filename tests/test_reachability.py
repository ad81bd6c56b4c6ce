"""Each public function of `evolve` and `datasets` is entered by some command, or stands in `LIBRARY`.

Followed is the code from the commands and `app/api.py` on. A name leads to what its module defines or imports,
an attribute to every method of that name (of what a call returns: to every function), and a text such as
"module:function" to all functions so named. A method is entered only where its class is.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("formulas", "datasets", "evolve", "validate", "app")
CHECKED = ("datasets", "evolve")
ENTRIES = ("app/commands", "app/api.py", "app/cli.py", "app/facade")
#: What no command enters, by the reason for which it is there.
LIBRARY = {
    "find_cnn": "a CNN by name, for scripts",
    "gpu_table": "all GPUs as a data frame, for scripts",
    "FittedViews.equations_": "the front of an estimator as a data frame",
    "FittedViews.plot_front": "for notebooks",
    "FittedViews.plot_predictions": "for notebooks",
    "FittedViews.save": "a fitted estimator as a file",
    "FormulaRegressors.equations_": "the fronts of several targets as a data frame",
    "lines_of_any_size": "what `tools.any_size` reads",
}
DOTTED = re.compile(r"[\w.]+(:\w+)?")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
IMPORTS = (ast.Import, ast.ImportFrom)


class Product:
    """All that the product defines, by place: a path and a name, "" for the code of a module itself."""

    def __init__(self):
        self.nodes, self.imports, self.named = {}, {}, defaultdict(set)
        for folder in FOLDERS:
            for file in sorted((ROOT / folder).rglob("*.py")):
                path = file.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__")
                self.read(path, ast.parse(file.read_text(encoding="utf-8")))

    def read(self, path, tree):
        """Keep each function, class and method, with the nodes that run only where it is entered."""
        self.imports[path] = {
            alias.asname or alias.name: (module_path(node.module), alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("trainlaw")
            for alias in node.names
        }
        own = [node for node in tree.body if not isinstance(node, (*FUNCTIONS, ast.ClassDef, *IMPORTS))]
        # What a package exports is entered where it is imported.
        self.nodes[path, ""] = [node for node in own if "__all__" not in ast.dump(node)]
        for node in tree.body:
            if isinstance(node, FUNCTIONS):
                self.nodes[path, node.name] = [node]
            elif isinstance(node, ast.ClassDef):
                methods = [
                    part for part in node.body if isinstance(part, FUNCTIONS) and part.name[:2] != "__"
                ]
                self.nodes[path, node.name] = [
                    part for part in ast.iter_child_nodes(node) if part not in methods
                ]
                self.nodes |= {(path, f"{node.name}.{method.name}"): [method] for method in methods}
        for place in self.nodes:
            if place[0] == path:
                self.named[place[1].rpartition(".")[2]].add(place)

    def found(self, path, name):
        """The place that a name of a module leads to, through what packages import in turn."""
        seen = set()
        while (
            (path, name) not in self.nodes and name in self.imports.get(path, {}) and (path, name) not in seen
        ):
            seen.add((path, name))
            path, name = self.imports[path][name]
        if f"{path}/{name}" in self.imports:
            return f"{path}/{name}", ""
        return (path, name) if (path, name) in self.nodes else (path, "")

    def entered_from(self, place):
        """The places that the code of one leads to."""
        path = place[0]
        yield path, ""
        for node in (part for top in self.nodes.get(place, ()) for part in ast.walk(top)):
            if isinstance(node, ast.Name):
                yield self.found(path, node.id)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from (self.found(module_path(node.module), alias.name) for alias in node.names)
            elif isinstance(node, ast.Attribute):
                # Of what a call returns it is not known whether it is a module.
                is_open = isinstance(node.value, ast.Call)
                yield from (found for found in self.named[node.attr] if is_open or "." in found[1])
                if isinstance(node.value, ast.Name):
                    yield self.found(self.found(path, node.value.id)[0], node.attr)
            elif (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and DOTTED.fullmatch(node.value)
            ):
                yield from self.named[re.split("[.:]", node.value)[-1]]


def is_method_of(place, entered):
    """Whether the class of a method is entered; true for what is no method."""
    path, name = place
    return "." not in name or (path, name.partition(".")[0]) in entered


def module_path(module):
    """The path of a module of the package in the checkout."""
    return (module or "").removeprefix("trainlaw.").replace(".", "/")


@pytest.mark.slow
def test_each_public_function_is_entered_by_a_command_or_is_library():
    product = Product()
    mentioned = {
        place for place in product.nodes if f"{place[0]}.py".startswith(ENTRIES) or place[1] in LIBRARY
    }
    entered = set()
    while ready := {place for place in mentioned - entered if is_method_of(place, entered)}:
        entered |= ready
        mentioned |= {found for place in ready for found in product.entered_from(place)}
    public = {place for place in product.nodes if place[0].startswith(CHECKED) and place[1]}
    public = {place for place in public if not re.search(r"(^|\.)_", place[1])}
    missing = sorted(f"{path}.py: {name}" for path, name in public - entered)
    assert not missing, "neither a command nor LIBRARY enters:\n" + "\n".join(missing)
    gone = sorted(name for name in LIBRARY if name not in {place[1] for place in product.nodes})
    assert not gone, f"LIBRARY names what is gone: {gone}"
