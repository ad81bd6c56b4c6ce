"""Takes the pictures of README and documentation from files that the commands write.

Needs Chromium, playwright and Pillow; LibreOffice and pdftoppm for the picture of the workbook, which is
left as it is without them.
"""

import io
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import printed
from figures import front_rows
from PIL import Image
from playwright.sync_api import sync_playwright
from trainlaw.app.models.builtin import BUILT_IN_FORMULAS
from trainlaw.app.report.figures import paper_style
from trainlaw.app.report.front import front_plot, support_plot
from trainlaw.app.text import svg
from trainlaw.datasets import load
from trainlaw.validate.support import support_of

PICTURES = Path(__file__).resolve().parent / "pictures"
_COLOURS = 256  # of a picture's palette: enough for plots, a third of the size
_WIDTH, _HEIGHT = 1280, 900
_LEAST_CNNS = 3  # of a family in the picture of compiling
_CLI = {
    "atlas-coverage.svg": "trainlaw data coverage atlas --out atlas-coverage.svg",
    "plans.svg": "trainlaw plan --cnn resnet50 --within 24h --prices prices.csv --plot plans.svg",
    "scaling.svg": "trainlaw scaling --cnn vgg16 --gpu V100-SXM2-16GB --batch 64 --plot scaling.svg",
}


def take(run: Path | None) -> None:
    """Take every picture; `run` is a run folder of the default study, None to run it now (minutes)."""
    run = run.resolve() if run else None
    with tempfile.TemporaryDirectory() as folder, printed.folder():
        report = (run or _study(Path(folder))) / "report.html"
        for name, command in _CLI.items():
            printed.run(command, printed.Session())
            shutil.copy(name, PICTURES / name)
        for name, drawing in fronts().items():
            (PICTURES / name).write_text(drawing, encoding="utf-8")
        (PICTURES / "compiling.svg").write_text(compiling(), encoding="utf-8")
        printed.run("trainlaw export --out law.html", printed.Session())
        _photograph(Path("law.html").resolve(), report)
        printed.run("trainlaw export --out formula.xlsx", printed.Session())
        _workbook(Path("formula.xlsx"))


def fronts() -> dict[str, str]:
    """Return the drawings of the built-in front and of what the data support, by file."""
    drawn = {"front.svg": front_plot(front_rows())}
    shares = support_of(BUILT_IN_FORMULAS["law"]())
    drawn |= {"support.svg": support_plot(shares)} if shares else {}
    return {name: svg.standalone(drawing, paper_style()) for name, drawing in drawn.items()}


def compiling() -> str:
    """Return what inductor makes of the time of a forward pass, by family of CNN: median, 5 to 95 %."""
    table = load("forward")
    passes = table.frame.assign(cnn_family=table.labels()["cnn_family"].to_numpy())
    passes = passes[passes["layout"] == "nchw"]
    passes = passes.assign(image_s=passes["time_s"] / passes["batch_per_gpu"])
    same = ["gpu", "cnn", "cnn_family", "input_size_px", "framework_version", "compilation"]
    both = passes.groupby(same)["image_s"].median().unstack("compilation").dropna().reset_index()
    both = both.assign(ratio=both["inductor"] / both["eager"])
    families = both.groupby("cnn_family").agg(
        cnns=("cnn", "nunique"),
        low=("ratio", lambda ratios: ratios.quantile(0.05)),
        median=("ratio", "median"),
        high=("ratio", lambda ratios: ratios.quantile(0.95)),
    )
    families = families[families["cnns"] >= _LEAST_CNNS].sort_values("median")
    across, bottom = svg.LogAxis(0.2, 2.7, 92, 388), 30.0 + 11 * len(families)
    parts = [svg.text(8, 12, "time with inductor over eager, per image of a forward pass")]
    for tick in (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0):
        parts.append(svg.line(across(tick), 20, across(tick), bottom, "equal" if tick == 1 else "grid"))
        parts.append(svg.text(across(tick), bottom + 11, f"{tick:g}", "middle", "tick"))
    for place, row in enumerate(families.itertuples()):
        y, title = 29.0 + 11 * place, f"{row.Index}: {row.median:.2f} ({row.low:.2f} to {row.high:.2f})"
        parts.append(svg.text(88, y + 3, f"{row.Index} ({row.cnns})", "end", "tick"))
        parts.append(svg.line(across(row.low), y, across(row.high), y, "reach"))
        parts.append(svg.circle(across(row.median), y, 2.6, "front", title))
    legend = "dots: medians; bars: 5 to 95 % of the pairs; in parentheses: CNNs"
    parts.append(svg.text(8, bottom + 24, legend, "start", "tick"))
    style = ".front{fill:#d55e00}.reach{stroke:#0072b2;stroke-width:3;stroke-opacity:.45}.equal{stroke:#888}"
    return svg.standalone(svg.drawing(bottom + 30, parts, "what compiling gains, by family of CNN"), style)


def _study(folder: Path) -> Path:
    printed.run(f"trainlaw study --into {folder / 'run'}", printed.Session(slow=True))
    return folder / "run"


def _photograph(page: Path, report: Path) -> None:
    """Take page, report and, side by side, page and predicted against measured."""
    with sync_playwright() as play:
        executable = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        shots = {name: _shot(browser, path) for name, path in (("page", page), ("report", report))}
        plot = _shot(browser, report, "figure")
        browser.close()
    for name, image in shots.items():
        _save(image, f"{name}.png")
    left = shots["page"].resize((_WIDTH * 2 // 3, _HEIGHT * 2 // 3), Image.Resampling.LANCZOS)
    right = plot.resize((plot.width * left.height // plot.height, left.height), Image.Resampling.LANCZOS)
    both = Image.new("RGB", (left.width + 16 + right.width, left.height), "white")
    both.paste(left, (0, 0))
    both.paste(right, (left.width + 16, 0))
    _save(both, "overview.png")


def _shot(browser: Any, path: Path, part: str = "") -> Image.Image:
    """One screen of a file, or its first element that a selector finds."""
    page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, color_scheme="light")
    page.goto(f"file://{path.resolve()}")
    page.wait_for_timeout(1000)
    data = page.locator(part).first.screenshot() if part else page.screenshot()
    page.close()
    return Image.open(io.BytesIO(data)).convert("RGB")


def _workbook(path: Path) -> None:
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None or not shutil.which("pdftoppm"):
        print("workbook.png: left as it is, LibreOffice or pdftoppm is not installed")
        return
    profile = f"-env:UserInstallation={Path.cwd().as_uri()}/profile"
    command = [office, profile, "--headless", "--convert-to", "pdf", str(path)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    pdf = str(path.with_suffix(".pdf"))
    first = ["pdftoppm", "-r", "180", "-f", "1", "-singlefile", "-png", pdf, "sheet"]
    subprocess.run(first, check=True, timeout=600)
    sheet = Image.open("sheet.png").convert("RGB")
    shown = sheet.crop((0, sheet.height // 24, sheet.width, sheet.height * 4 // 5))
    _save(shown, "workbook.png")


def _save(image: Image.Image, name: str) -> None:
    """Write a PNG with a palette, whole or not at all."""
    image = image.crop((0, 0, image.width, min(image.height, 2 * _HEIGHT)))
    paletted = image.quantize(_COLOURS, kmeans=1, dither=Image.Dither.NONE)
    paletted.save(PICTURES / f".{name}", format="PNG", optimize=True)
    (PICTURES / f".{name}").replace(PICTURES / name)
    print(f"{name}: {image.width} x {image.height} px, {(PICTURES / name).stat().st_size // 1024} KiB")
