import numpy as np
import pytest
from trainlaw.formulas import InputError, evaluate, parse_text, prove_monotone, prove_sign, variables

BOX = {
    "x": (0.0, 9.0),
    "y": (1.0, 100.0),
    "c": (1.0, 2.0),
    "z": (-1.0, 1.0),
    "P": (1e12, 3e13),
    "m": (1e6, 1e12),
}


@pytest.mark.parametrize(
    ("text", "name", "direction", "status"),
    [("x / (x + c)", "x", 1, "proved"), ("x * y", "x", 1, "proved"), ("x * z", "x", 1, "refuted"),
     ("sqrt(x) * y + max(x, y)", "x", 1, "proved"), ("m / P + 0.1", "P", -1, "proved"),
     ("m / P", "m", -1, "refuted"),
     ("step(x - 3)", "x", 1, "proved"), ("step(x - 3)", "x", -1, "refuted"),
     ("x * exp(-x)", "x", 1, "refuted"),
     ("m / (1 + m / P)", "m", 1, "proved"), ("x ^ 0.48 * y", "x", 1, "proved"),
     ("x + sin(x)", "x", 1, "proved"),
     ("log(x)", "x", 1, "undecided"), ("abs(x - 4)", "x", 1, "refuted"), ("y", "x", 1, "proved"),
     ("y", "x", -1, "proved"),
     ("1 / z", "z", -1, "refuted"), ("1 / x", "x", -1, "undecided"), ("x ^ y", "x", 1, "proved"),
     ("step(x - 3) - x", "x", -1, "refuted")],
)  # fmt: skip
def test_monotone(text, name, direction, status):
    expression = parse_text(text)
    proof = prove_monotone(expression, name, BOX, direction)
    assert proof.status == status
    assert len(proof.witness) == (2 if status == "refuted" else 0)
    if proof.witness:
        low, high = proof.witness
        values, _ = evaluate(expression, {key: np.array([low[key], high[key]]) for key in low})
        assert low[name] < high[name] and direction * (values[1] - values[0]) < 0


@pytest.mark.parametrize(
    ("text", "sign", "status"),
    [("x^2 - 2 * x + 1.5", 1, "proved"), ("z", 1, "refuted"), ("exp(z) - 0.3", 1, "proved"),
     ("y - c + 1", 1, "proved"),
     ("square(x - y)", 1, "proved"), ("-x", -1, "proved"), ("x - 9", -1, "proved"), ("inv(z)", 1, "refuted"),
     ("x * x - x * y + y * y", 1, "proved"), ("1 / x", 1, "undecided"), ("exp(100 * y)", 1, "undecided"),
     ("3", 1, "proved"), ("-3", 1, "refuted")],
)  # fmt: skip
def test_sign(text, sign, status):
    proof = prove_sign(parse_text(text), BOX, sign)
    assert proof.status == status
    if status == "refuted":
        (point,) = proof.witness
        value, _ = evaluate(parse_text(text), {name: np.array([number]) for name, number in point.items()})
        assert sign * value[0] < 0


def test_narrow_dip_is_found():
    proof = prove_sign(parse_text("square(x - 4.321) - 0.0001"), BOX)
    assert proof.status == "refuted" and abs(proof.witness[0]["x"] - 4.321) < 0.01


def test_box_is_checked():
    with pytest.raises(InputError):
        prove_sign(parse_text("x"), {"x": (1, 0)})
    with pytest.raises(LookupError):
        prove_monotone(parse_text("x"), "q", {"x": (0, 1)})


@pytest.mark.slow
def test_no_proof_is_contradicted_by_samples(random_expressions):
    generator = np.random.default_rng(5)
    proved = 0
    for expression in random_expressions(50, seed=5):
        box = {}
        for name in "xyz":
            low = float(generator.choice([-2, 0, 0.1, 1, 100]))
            box[name] = (low, low + float(generator.choice([0.5, 3, 1e3])))
        points = {
            name: low + generator.uniform(size=2000) * (high - low) for name, (low, high) in box.items()
        }
        values, valid = evaluate(expression, points)
        scale = np.max(np.abs(values[valid]), initial=0.0)
        for sign in (1, -1):
            if prove_sign(expression, box, sign, max_boxes=200).status == "proved":
                proved += 1
                assert np.all(valid) and np.all(sign * values >= -1e-12 * scale)
            for name in variables(expression):
                proof = prove_monotone(expression, name, box, sign, max_boxes=200)
                if proof.status == "proved":
                    proved += 1
                    raised = points[name] + generator.uniform(size=2000) * (box[name][1] - points[name])
                    above, _ = evaluate(expression, {**points, name: raised})
                    assert np.all(valid) and np.all(sign * (above - values) >= -1e-12 * scale)
    assert proved > 25
