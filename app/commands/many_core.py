"""`trainlaw many-core`: the time of a training on a many-core processor by two published closed forms."""

from enum import StrEnum
from typing import Annotated

import typer


class Model(StrEnum):
    """Which closed form."""

    a = "a"
    b = "b"


def many_core_command(
    cnn: Annotated[
        str, typer.Option("--cnn", "--network", help="CNN of the paper: small, medium or large.")
    ] = "small",
    threads: Annotated[int, typer.Option(help="Threads that train together.", min=1)] = 240,
    model: Annotated[
        Model, typer.Option(help="a counts operations, b starts from measured times.")
    ] = Model.a,
    epochs: Annotated[
        int | None, typer.Option(help="Epochs; default: those of the published runs.", min=1)
    ] = None,
    train_images: Annotated[int, typer.Option(help="Images of an epoch to train on.", min=1)] = 60_000,
    test_images: Annotated[int, typer.Option(help="Images of an epoch to test on.", min=0)] = 10_000,
    cores: Annotated[int, typer.Option(help="Cores of the processor.", min=1)] = 61,
    clock: Annotated[float, typer.Option(help="Clock of a core, Hz; model a only.", min=1)] = 1.238e9,
    published: Annotated[
        bool, typer.Option("--published", help="All published predictions, next to those computed here.")
    ] = False,
) -> None:
    """Predict a training on a many-core processor (Xeon Phi 7120P) by two published closed forms.

    The forms and figures are those of Viebke, Pllana, Memeti and Kolodziej (HPCS 2019), recalled: they
    reproduce the published predictions; no error against measured times is claimed. As formulas they are
    named xeon-phi-a and xeon-phi-b, for `trainlaw show` and for `trainlaw export` to workbook, page and code.

    \b
    Examples:
      trainlaw many-core --cnn large --threads 240 --model b
      trainlaw many-core --published
      trainlaw export xeon-phi-b --to many-cores.html
    """
    from trainlaw.app.models.custom_inputs import cases_of, cases_text, group_keys
    from trainlaw.app.models.many_core import MODELS, NETWORK, many_core_formula
    from trainlaw.formulas.errors import unknown_name

    formula = many_core_formula(model.value)
    if published:
        both = [(each, many_core_formula(each)) for each in MODELS]
        print("\n\n".join(f"model ({each})\n{cases_text(form, cases_of(form))}" for each, form in both))
    else:
        known = group_keys(formula)[NETWORK]
        if cnn not in known:
            raise unknown_name("CNN", cnn, known)
        case = next(case for case in cases_of(formula) if case[NETWORK] == cnn)
        inputs = {"threads": float(threads), "train_images": float(train_images)}
        inputs |= {"test_images": float(test_images), "epochs": float(epochs or case["epochs"])}
        inputs |= {"core_count": float(cores), "clock_hz": clock}
        print(cases_text(formula, [{NETWORK: cnn, **inputs}]))
        outside = formula.out_of_range({name: [value] for name, value in inputs.items()})
        for name in (name for name, rows in outside.items() if rows.any()):
            print(f"warning: {name} lies outside the table of the paper")
    print(f"\n{formula.provenance['method']}\n{formula.provenance['caution']}")
