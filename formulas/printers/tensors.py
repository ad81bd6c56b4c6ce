"""A formula as a function of torch or JAX, through which gradients pass: the texts of numpy, where they hold.

JAX computes in single precision unless `jax_enable_x64` is set, torch in double precision.
"""

from dataclasses import replace

from trainlaw.formulas.printers.functions import FunctionForm
from trainlaw.formulas.printers.language import Language, calls, known_constants, plain_number
from trainlaw.formulas.printers.programming import NUMPY

_LABELS = (
    "def constants(labels, values, default):\n"
    "    labels = [labels] if isinstance(labels, str) else labels\n"
    "    return {array}([values.get(str(label), default) for label in labels])\n"
)


def _like_numpy(module: str) -> Language:
    helpers = {name: source.replace("np.", f"{module}.") for name, source in NUMPY.helpers.items()}
    return replace(
        NUMPY,
        forms={name: form.replace("np.", f"{module}.") for name, form in NUMPY.forms.items()},
        helpers=helpers | {"constants": _LABELS.format(array=f"{module}.asarray")},
        number=plain_number(lambda value: NUMPY.number(value).text.replace("np.", f"{module}.")),
        reserved=frozenset({*NUMPY.reserved, module, "isinstance", "str"}),
    )


JAX = _like_numpy("jnp")
# Functions of two tensors accept no numbers, and there is no cube root.
TORCH = replace(
    _like_numpy("torch"),
    forms={
        **_like_numpy("torch").forms,
        **calls("cbrt", "step"),
        "cube": "power({a}, 3)",
        "min": "torch.minimum(tensor({a}), tensor({b}))",
        "max": "torch.maximum(tensor({a}), tensor({b}))",
    },
    helpers={
        "tensor": "def tensor(values):\n    return torch.as_tensor(values, dtype=torch.float64)\n",
        "finite": (
            "def finite(values):\n"
            "    values = torch.as_tensor(values, dtype=torch.float64)\n"
            "    return torch.where(torch.isfinite(values), values, torch.nan)\n"
        ),
        "power": (
            "def power(base, exponent):\n"
            "    base = torch.as_tensor(base, dtype=torch.float64)\n"
            "    exponent = torch.as_tensor(exponent, dtype=torch.float64)\n"
            "    known = torch.isfinite(base) & torch.isfinite(exponent)\n"
            "    return torch.where(known, torch.pow(base, exponent), torch.nan)\n"
        ),
        "cbrt": "def cbrt(values):\n    return torch.sign(values) * torch.abs(values) ** (1 / 3)\n",
        "step": (
            "def step(values):\n"
            "    return torch.where(torch.isnan(values), values, 0.5 * (torch.sign(values) + 1))\n"
        ),
        "constants": _LABELS.format(array="torch.DoubleTensor"),
    },
)


def _form(language: Language, imports: str, array: str) -> FunctionForm:
    return FunctionForm(
        language=language,
        input=f"{{name}} = finite({array})",
        pair="{key}: {value}",
        lookup="{name} = constants({label}, {{{pairs}}}, {default})",
        step="{name} = {value}",
        result="return finite({value})",
        before_helper="\n\n",
        whole=f"{{comments}}{imports}\n{{helpers}}\n\ndef {{name}}({{parameters}}):\n{{body}}",
        prepared=known_constants,
    )


# Units and invalid values are as of the numpy function; labels of groups are a text or a sequence of texts.
print_jax_function = _form(JAX, "import jax.numpy as jnp", "jnp.asarray({name}, dtype=float)").write
print_torch_function = _form(TORCH, "import torch", "tensor({name})").write
