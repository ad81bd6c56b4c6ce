"""What holds for the functions of every language; a new one is picked up without an edit."""

import json
import shutil
import subprocess
from xml.etree import ElementTree

import numpy as np
import pytest
from trainlaw.formulas import OPERATORS, Apply, Formula, GroupedConstant, Variable, parse_text, variables
from trainlaw.formulas.printers.language import hides_infinity, may_overflow
from trainlaw.formulas.printers.latex import print_latex
from trainlaw.formulas.printers.mathml import mathml_expression, mathml_symbol, mathml_symbols
from trainlaw.formulas.printers.naming import identifiers, inert
from trainlaw.formulas.printers.programming import FUNCTIONS
from trainlaw.formulas.printers.steps import named_steps

from ...rows import each_row
from .conftest import COMPILE, bare


@pytest.mark.parametrize("suffix", FUNCTIONS)
@each_row("operator", OPERATORS)
def test_every_operator_in_every_language(suffix, operator):
    expression = Apply(operator, (Variable("x"), Variable("y"))[: OPERATORS[operator].arity])
    text = FUNCTIONS[suffix](bare(expression))
    assert text.endswith("\n") and "printed by trainlaw" in text


@pytest.mark.parametrize("printer", [*FUNCTIONS.values(), print_latex])
def test_header_says_what_it_is(printer, law):
    text = printer(law)
    for part in (
        "batch [sample]",
        "in training 1 to 256",
        "time_s [s]",
        "macro_mape_percent: 15.5",
        "data_sha256: ab12",
    ):
        assert part in text


def test_names_are_inert_in_python(nasty_laws):
    for nasty in nasty_laws:
        space, name = {}, nasty.features[0].name
        exec(compile(FUNCTIONS[".py"](nasty), "printed", "exec"), space)
        assert space["predict"](2.0, 3.0, name) == 11.0 and space["predict"](2.0, 3.0) == 7.0


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node, which is not on the PATH")
def test_names_are_inert_in_javascript(nasty_laws):
    programs = []
    for nasty in nasty_laws:
        source, name = FUNCTIONS[".js"](nasty), nasty.features[0].name
        assert "</" not in source
        features, labels = json.dumps({name: 2, name + "2": 3}), json.dumps({name: name})
        calls = f"predict({features}, {labels}), predict({features}, {{}}), predict({features})"
        programs.append(f"(() => {{\n{source}\nconsole.log({calls})\n}})();\n")
    done = subprocess.run(["node", "-"], input="".join(programs), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["11", "7", "7"] * len(nasty_laws)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc, which is not on the PATH")
def test_names_are_inert_in_c(nasty_laws, tmp_path):
    source, calls = "#include <stdio.h>\n", ""
    for number, nasty in enumerate(nasty_laws):
        label = "".join(f"\\{byte:03o}" for byte in nasty.features[0].name.encode())
        source += f"#define predict predict_{number}\n#define or_nan or_nan_{number}\n"
        source += f"{FUNCTIONS['.c'](nasty)}#undef predict\n#undef or_nan\n"
        calls += f'printf("%g ", predict_{number}(2.0, 3.0, "{label}")); '
    (tmp_path / "a.c").write_text(f"{source}int main(void) {{ {calls}return 0; }}\n")
    subprocess.run([*COMPILE, "-o", tmp_path / "a", tmp_path / "a.c", "-lm"], check=True)
    done = subprocess.run([tmp_path / "a"], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["11"] * len(nasty_laws)


def test_names_are_inert_in_markup(nasty_laws):
    for nasty in nasty_laws:
        symbols = {name: mathml_symbol(name) for name in variables(nasty.expression)}
        ElementTree.fromstring(mathml_expression(nasty.expression, symbols))
        assert "\\end{x}" not in print_latex(nasty).replace("\\end{tabular}", "")


def test_comments_are_inert(nasty_laws):
    hostile = ("*/", "/*", "--", "//", "<", ">", "\\", '"', "`", "$", "{", "}", "&", "#")
    for nasty in nasty_laws:
        line = inert(nasty.features[0].name * 3)
        assert len(line.splitlines()) <= 1 and len(line) <= 4000
        assert not any(part in line for part in hostile)


def test_identifiers_are_distinct_without_regard_to_case():
    found = identifiers(["a b", "a_b", "A_B", "1", "if", "IF", "\u00e9"], {"if"})
    assert len({name.lower() for name in found.values()}) == len(found)
    assert all(name.isidentifier() and name.isascii() and name != "if" for name in found.values())


def test_grouped_constants_carry_their_index(law):
    constant = GroupedConstant("C[harness]", "harness", {}, 1.0)
    formula = Formula(parse_text("C[harness] * batch"), law.features, law.target, (constant,))
    assert r"C_{\mathrm{harness}} \cdot b" in print_latex(formula)
    assert mathml_symbols(formula)["C[harness]"] == "<msub><mi>C</mi><mi>harness</mi></msub>"


def test_steps_share_what_is_repeated():
    steps = named_steps(parse_text("exp(x + y) * (x + y) + exp(x + y)"))
    assert [name for name, _ in steps.assignments] == ["step_1", "step_2"]
    assert named_steps(parse_text("step_x + step_x * 2 + exp(x) * exp(x)")).assignments[0][0] == "_step_1"
    assert named_steps(parse_text("x + y")).assignments == ()


def test_what_hides_infinity():
    assert hides_infinity("pow") == (True, True) and hides_infinity("mul") == (False, False)


@each_row("row", OPERATORS.values())
def test_what_makes_infinity_of_finite_numbers_may_overflow(row):
    ends = np.array([-1.7e308, -1.0, 0.0, 1.0, 1.7e308])
    arguments = [grid.ravel() for grid in np.meshgrid(*[ends] * row.arity)]
    with np.errstate(all="ignore"):
        assert may_overflow(row.name) == bool(np.isinf(row.function(*arguments)).any())
