"""`trainlaw many-core`: the time of a training on a many-core processor by two published closed forms."""

from enum import StrEnum
from typing import Annotated

import typer


class Model(StrEnum):
    """Which closed form."""

    a = "a"
    b = "b"


def many_core_command(
    network: Annotated[str, typer.Option(help="CNN: small, medium or large.")] = "small",
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
      trainlaw many-core --network large --threads 240 --model b
      trainlaw many-core --published
      trainlaw export xeon-phi-b --to many-cores.html
    """
    from trainlaw.app.models.custom_inputs import cases_of, cases_text, group_keys
    from trainlaw.app.models.many_core import NETWORK, many_core_formula
    from trainlaw.formulas.errors import unknown_name

    law = many_core_formula(model.value)
    if published:
        parts = [f"model ({each})\n{cases_text(each_law, cases_of(each_law))}" for each, each_law in _both()]
        print("\n\n".join(parts))
    else:
        known = group_keys(law)[NETWORK]
        if network not in known:
            raise unknown_name("network", network, known)
        of_network = next(case for case in cases_of(law) if case[NETWORK] == network)
        inputs = {"threads": threads, "train_images": train_images, "test_images": test_images}
        inputs |= {"epochs": epochs or of_network["epochs"], "core_count": cores, "clock_hz": clock}
        print(cases_text(law, [{NETWORK: network, **inputs}]))
        outside = law.out_of_range({name: [float(value)] for name, value in inputs.items()})
        for name in (name for name, rows in outside.items() if rows.any()):
            print(f"warning: {name} lies outside the table of the paper")
    print(f"\n{law.provenance['method']}\n{law.provenance['caution']}")


def _both() -> list[tuple[str, object]]:
    from trainlaw.app.models.many_core import MODELS, many_core_formula

    return [(model, many_core_formula(model)) for model in MODELS]
