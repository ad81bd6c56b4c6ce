"""Builds the documentation site, and brings what the pages print up to date.

python docs/build.py                      build the site into build/docs, without a network
python docs/build.py --rewrite            run every printed command, write its output into the pages
python docs/build.py --rewrite --slow     also what takes minutes
python docs/build.py --pictures           take the pictures; --run FOLDER: of this run of the default study
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pages


def main() -> int:
    """Do what the options say; the status is that of the last step."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rewrite", action="store_true", help="bring the pages up to date")
    parser.add_argument("--slow", action="store_true", help="with --rewrite: also run what takes minutes")
    parser.add_argument("--pictures", action="store_true", help="take the pictures")
    parser.add_argument("--run", type=Path, help="run folder of the default study, for --pictures")
    parser.add_argument("pages", nargs="*", type=Path, help="with --rewrite: only these pages")
    asked = parser.parse_args()
    if asked.pictures:
        import pictures  # noqa: PLC0415 (needs a browser)

        pictures.take(asked.run)
    if asked.rewrite:
        rewrite([path.resolve() for path in asked.pages] or list(pages.pages()), asked.slow)
    return 0 if asked.rewrite or asked.pictures else site()


def rewrite(paths: list[Path], slow: bool) -> None:
    """Write the figures and the output of commands into pages."""
    for path in paths:
        began, text = time.process_time(), path.read_text(encoding="utf-8")
        new = pages.current(text, slow)
        path.write_text(new, encoding="utf-8")
        state = "changed" if new != text else "as before"
        print(f"{path.relative_to(pages.ROOT)}: {state}, {time.process_time() - began:.1f} s", flush=True)


def site() -> int:
    """Build the site; a warning or a dead link fails."""
    output = pages.ROOT / "build" / "docs"
    strict = [sys.executable, "-m", "sphinx", "-n", "-W", "--keep-going", "-b", "html"]
    command = [*strict, "-d", f"{output}/doctrees", str(pages.DOCS), f"{output}/html"]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
