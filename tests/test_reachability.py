"""Each public function of the product is entered by some command, or stands in `LIBRARY`.

Followed is the code from the commands and `app/api.py` on. A name leads to what its module defines or
imports, an attribute to every method of that name (of what a call returns: to every function), and a text
such as "module:function" to all functions so named. A method is entered only where its class is.
"""

import ast
import re
from collections import defaultdict

from .syntax import ROOT, code_in, parsed

FOLDERS = ("formulas", "datasets", "evolve", "validate", "app")
ENTRIES = ("app/commands", "app/api.py", "app/cli.py", "app/facade")
#: What no command enters, with the reason for which it is there.
LIBRARY = {
    "read_torch": "a CNN from a module of torch, for scripts",
    "FormulaRegressor.equations_": "the front of an estimator as a data frame",
    "Law.plot": "for notebooks",
    "PartCompiler.compile_extra": "what numba calls",
    "FrontSearch.of_size": "a formula of a front, for scripts",
}
NAMES = re.compile(r"[\w.]+(:\w+)?")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Product:
    """All that the product defines, by place: a path and a name, "" for the code of a module itself."""

    def __init__(self):
        self.nodes, self.imports, self.named = {}, {}, defaultdict(set)
        for file in code_in(*FOLDERS):
            path = file.relative_to(ROOT).with_suffix("").as_posix().removesuffix("/__init__")
            self.read(path, parsed(file))
        for place in self.nodes:
            self.named[place[1].rpartition(".")[2]].add(place)

    def read(self, path, tree):
        """Keep each function, class and method with the code that runs only where it is entered."""
        named = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module]
        self.imports[path] = {
            alias.asname or alias.name: (module_path(node.module), alias.name)
            for node in named
            for alias in node.names
        }
        apart = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)
        # What a package exports is entered where it is imported.
        self.nodes[path, ""] = [
            node for node in tree.body if not isinstance(node, apart) and "__all__" not in ast.dump(node)
        ]
        for node in tree.body:
            if isinstance(node, FUNCTIONS):
                self.nodes[path, node.name] = [node]
            elif isinstance(node, ast.ClassDef):
                methods = [
                    each for each in node.body if isinstance(each, FUNCTIONS) and each.name[:2] != "__"
                ]
                self.nodes[path, node.name] = [
                    each for each in ast.iter_child_nodes(node) if each not in methods
                ]
                self.nodes |= {(path, f"{node.name}.{method.name}"): [method] for method in methods}

    def found(self, path, name):
        """The place that a name of a module leads to, through what packages import in turn."""
        while (path, name) not in self.nodes and name in self.imports.get(path, {}):
            path, name = self.imports[path].get(name)
        if f"{path}/{name}" in self.imports:
            return f"{path}/{name}", ""
        return path, name if (path, name) in self.nodes else ""

    def entered_from(self, place):
        """Yield the places that the code of one leads to."""
        path = place[0]
        yield path, ""
        for node in (each for top in self.nodes.get(place, ()) for each in ast.walk(top)):
            if isinstance(node, ast.Name):
                yield self.found(path, node.id)
            elif isinstance(node, ast.ImportFrom):
                yield from (self.found(module_path(node.module), alias.name) for alias in node.names)
            elif isinstance(node, ast.Attribute):
                is_call = isinstance(node.value, ast.Call)
                yield from (place for place in self.named[node.attr] if is_call or "." in place[1])
                if isinstance(node.value, ast.Name):
                    yield self.found(self.found(path, node.value.id)[0], node.attr)
            elif isinstance(node, ast.Constant) and NAMES.fullmatch(str(node.value)):
                yield from self.named[re.split("[.:]", str(node.value))[-1]]


def is_method_of(place, entered):
    """Whether the class of a method is entered; true for what is no method."""
    return "." not in place[1] or (place[0], place[1].partition(".")[0]) in entered


def module_path(module):
    """The path of a module of the package in the checkout."""
    return (module or "").removeprefix("trainlaw.").replace(".", "/")


def test_each_public_function_is_entered_by_a_command_or_is_library():
    product = Product()
    reached = {
        place for place in product.nodes if f"{place[0]}.py".startswith(ENTRIES) or place[1] in LIBRARY
    }
    entered = set()
    while ready := {place for place in reached - entered if is_method_of(place, entered)}:
        entered |= ready
        reached |= {found for place in ready for found in product.entered_from(place)}
    public = {place for place in product.nodes if place[1] and not re.search(r"(^|\.)_", place[1])}
    missing = sorted(f"{path}.py: {name}" for path, name in public - entered)
    assert not missing, "neither a command nor LIBRARY enters:\n" + "\n".join(missing)
    gone = sorted(set(LIBRARY) - {name for _, name in product.nodes})
    assert not gone, f"LIBRARY names what is gone: {gone}"
