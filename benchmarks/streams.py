"""Speed-up of ten CNNs on 1 to 8 streams, as tables for docs/streams.md.

python -m benchmarks.streams
"""

from trainlaw.app.models.builtin import LAYER_FORMULA
from trainlaw.app.predictions.streams import plan_streams
from trainlaw.datasets import find_cnn_counts, find_gpu
from trainlaw.formulas import load_formula

CNNS = (
    "googlenet",
    "inception_v3",
    "inception_v4",
    "inception_resnet_v2",
    "squeezenet1_0",
    "resnet50",
    "densenet121",
    "mobilenet_v2",
    "efficientnet_b0",
    "vgg16",
)
SETTINGS = (("training", 32), ("training", 8), ("forward", 1))


def main() -> None:
    """Print a table per phase and batch."""
    formula, gpu = load_formula(LAYER_FORMULA), find_gpu("V100-SXM2-16GB")
    for phase, batch in SETTINGS:
        print(f"\n{phase}, batch {batch}, {gpu.gpu}\n")
        print(
            "| CNN | one stream, ms | " + " | ".join(map(str, range(1, 9))) + " | bound | share of the path |"
        )
        print("|---" * 12 + "|")
        for name in CNNS:
            plan = plan_streams(find_cnn_counts(name), gpu, batch, 8, phase=phase, formula=formula)
            total, tasks = plan.chosen.tasks.total_s, plan.chosen.tasks
            ups = " | ".join(f"{each.speed_up:.3f}" for each in plan.schedules)
            path = sum(tasks.seconds[task] for task in plan.critical) / total
            bound = total / plan.chosen.lower_bound_s
            print(f"| {name} | {1e3 * total:.1f} | {ups} | {bound:.2f} | {100 * path:.0f} % |")


if __name__ == "__main__":
    main()
