"""What all tests share."""

import contextlib
import gc
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from coverage import Coverage
from hypothesis import settings

# A busy machine must not fail a property that holds: what is checked is values, not speed.
settings.register_profile("house", deadline=None)
settings.load_profile("house")

# Before anything loads numpy: threads that wait for each other on small matrices only cost time.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
# Workers of pytest-xdist state a width of 80; commands print as into a pipe.
os.environ.pop("COLUMNS", None)

ROOT = Path(__file__).resolve().parents[1]

# Files and tests that take longer, in processor time with their children and the fixtures of their file.
SLOW = Path(__file__).with_name("slow.txt")
SLOW_SECONDS = 1 / 3

# The packages whose coverage is required, each by the tests in the folder of its name.
COVERED = ("formulas", "datasets", "evolve", "validate")


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """Let `fsync` do nothing in this process: no test cuts the power, and a call takes milliseconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch that rewrites golden files."""
    parser.addoption(
        "--overwrite-golden",
        action="store_true",
        help="Write what the code gives now into the golden files instead of comparing; read the diff after.",
    )
    parser.addoption(
        "--write-slow",
        action="store_true",
        help="With -n 0: list those of the tests that run in slow.txt that take longer than others.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Deal out whole files, whose tests share what is expensive, in order; let children be interrupted."""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"
        config.option.loadscopereorder = False
    # Under nohup, and in background jobs of a script, SIGINT is ignored, and every child inherits that:
    # tests that interrupt a command would wait for its whole run.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


# Their tests need compiled code, and no compiled code.
COMPILED = ("app", "evolve", "validate")
UNCOMPILED = ("datasets", "formulas", "fuzz", "test_gates.py", "test_language.py")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests as slow or fast, and put the files in the order that keeps two workers busy.

    Searches that take minutes run only where they are asked for.

    Files with slow tests come first, so that what remains at the end is short. The first of all compiles,
    while the other worker runs those that need no compiled code.
    """
    if "builtin" not in config.option.markexpr:
        long = [item for item in items if item.get_closest_marker("builtin")]
        items[:] = [item for item in items if item not in long]
        config.hook.pytest_deselected(items=long)
    slow_files, slow = set(), set(SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if {place_of(item), place_of(item).partition("::")[0]} & slow:
            item.add_marker(pytest.mark.slow)
        names = getattr(item, "fixturenames", None)
        if names is not None and folder_of(item.path) in COMPILED and "machine_compiled" not in names:
            names.insert(0, "machine_compiled")
        if item.get_closest_marker("slow"):
            slow_files.add(item.path)
        else:
            item.add_marker(pytest.mark.fast)
    compiling = next((item.path for item in items if item.path in slow_files), None)
    items.sort(
        key=lambda item: (
            item.path != compiling,
            item.path not in slow_files,
            folder_of(item.path) not in UNCOMPILED,
        )
    )


def pytest_collection_finish() -> None:
    """Keep the collector from looking at all tests and modules again and again, a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def place_of(item: pytest.Item) -> str:
    """Return the file and the name of a test, without the values that it gets."""
    return item.nodeid.partition("[")[0]


def processor_seconds() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


# Processor time of fixtures by file and name, and of tests by place.
FIXTURE_SECONDS: dict[tuple[str, str], float] = {}
TEST_SECONDS: dict[str, float] = {}


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest
) -> Generator[None, object, object]:
    """Measure the fixtures of a file."""
    began = processor_seconds()
    try:
        return (yield)
    finally:
        if fixturedef.scope == "module":
            FIXTURE_SECONDS[request.node.nodeid, fixturedef.argname] = processor_seconds() - began


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Measure a test; of several rows of it the slowest counts."""
    began, place = processor_seconds(), place_of(item)
    try:
        return (yield)
    finally:
        shared = [(place.partition("::")[0], name) for name in getattr(item, "fixturenames", ())]
        spent = [processor_seconds() - began, *(FIXTURE_SECONDS.get(key, 0.0) for key in shared)]
        TEST_SECONDS[place] = max(TEST_SECONDS.get(place, 0.0), *spent)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the list of slow tests where that is asked for; tests that did not run keep their lines."""
    if session.config.getoption("--write-slow") and "PYTEST_XDIST_WORKER" not in os.environ:
        files = {place.partition("::")[0] for place in TEST_SECONDS}
        known = [line for line in SLOW.read_text(encoding="utf-8").splitlines() if line not in files]
        slow = {line for line in known if line not in TEST_SECONDS}
        slow |= {place for place, seconds in TEST_SECONDS.items() if seconds > SLOW_SECONDS}
        SLOW.write_text("".join(f"{line}\n" for line in sorted(slow)), encoding="utf-8")


@cache
def folder_of(path: Path) -> str:
    """Return the folder of a test's package, or the name of a file that lies in none."""
    return path.relative_to(ROOT / "tests").parts[0]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    """Take the refusals of a room as tests, one per section."""
    return Refusals.from_parent(parent, path=file_path) if file_path.name == "refusals.pycon" else None


class Refusals(pytest.File):
    """Statements that a room refuses: below each `>>>` the error, as its class and a pattern of its words.

    Each section, `=== subject`, has its names and an empty folder to itself, in which `write(content, name)`
    makes files; a statement with no error below it prepares.
    """

    def collect(self) -> Iterator["RefusedSection"]:
        for section in re.split("^=== ", self.path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            name, _, text = section.partition("\n")
            yield RefusedSection.from_parent(self, name=name, text=text)


def written(content: str | bytes, name: str) -> Path:
    """Write a file into the current folder and return its path."""
    path = Path(name)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


class RefusedSection(pytest.Item):
    """The refusals of one subject."""

    STATEMENT = re.compile(r"^>>> (.*\n(?:\.\.\. .*\n)*)(?:(\w+): ?(.*)\n)?", re.MULTILINE)

    def __init__(self, *, text: str, **options: object) -> None:
        super().__init__(**options)
        self.text = text

    def runtest(self) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            self.check({"write": written})

    def check(self, names: dict[str, object]) -> None:
        faults = []
        for statement, error, pattern in self.STATEMENT.findall(f"{self.text}\n"):
            code = statement.replace("\n... ", "\n")
            raised = None
            try:
                exec(code, names)
            except Exception as caught:
                raised = caught
            classes = [each.__name__ for each in type(raised).__mro__]
            is_line = isinstance(raised, AssertionError | None) or "\n" not in str(raised)
            if (error or "NoneType") not in classes or not (is_line and re.search(pattern, str(raised))):
                faults.append(f"{code}expected {error} {pattern}\ngot {raised!r}")
        assert not faults, "\n\n".join(faults)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Trace only the tests of the packages whose coverage is required: all others take half the time."""
    tracer = Coverage.current()
    if tracer is None or folder_of(item.path) in COVERED:
        return (yield)
    tracer.stop()
    try:
        return (yield)
    finally:
        tracer.start()


@pytest.fixture(scope="session")
def machine_compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let the first worker that needs it compile the machine of searches; the others load it from files.

    That takes ten seconds, in which the others run what needs no machine, or wait. Where few tests are
    run, the first that searches compiles.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ or len(request.session.items) < 1000:
        return
    of_all_workers = tmp_path_factory.getbasetemp().parent
    done = of_all_workers / "machine-compiled"
    try:
        (of_all_workers / "machine-begun").mkdir()
    except FileExistsError:
        end = time.monotonic() + 300
        while not done.exists() and time.monotonic() < end:
            time.sleep(0.1)
    else:
        from trainlaw.evolve.regressor import compile_machine

        compile_machine()
        done.touch()


def with_few_networks() -> Iterator[None]:
    from trainlaw.app.models import lookup_tables
    from trainlaw.app.workbook import lookup_sheets

    table = lookup_tables.cnn_table()
    few = table[table["cnn"].isin(["resnet50", "vgg16", "lenet5"]) & (table["input_size_px"] == 224)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookup_tables, "cnn_table", few.copy)
        forget_cnns(lookup_tables, lookup_sheets)
        yield
    forget_cnns(lookup_tables, lookup_sheets)


def forget_cnns(*modules: ModuleType) -> None:
    """Clear what functions of these modules have kept of CNNs."""
    for module in modules:
        for name, function in vars(module).items():
            if "cnn" in name and getattr(function, "__module__", "") == module.__name__:
                getattr(function, "cache_clear", lambda: None)()


# Workbooks with three networks: workbook/test_book.py writes them whole, which takes seconds each.
few_networks = pytest.fixture(with_few_networks, name="few_networks")
few_networks_in_module = pytest.fixture(with_few_networks, scope="module", name="few_networks_in_module")


@pytest.fixture
def overwrite_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--overwrite-golden"))


@pytest.fixture(autouse=True)
def interrupts_unchanged() -> Iterator[None]:
    """Check that a test leaves the handler of SIGINT as it found it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before, "the test changed the handler of SIGINT"


@pytest.fixture(scope="session")
def installed_tree(tmp_path_factory) -> Path:
    """A folder that links the package `trainlaw` as a regular installation lays it out.

    Neither import-linter nor mypy can follow the mapping of an editable installation.
    """
    root = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, ROOT / "tools" / "link_tree.py", root], check=True)
    return root


@pytest.fixture
def start_process() -> Iterator["StartProcess"]:
    """Start processes in sessions of their own; whatever a test leaves running is killed with its workers."""
    starter = StartProcess()
    yield starter
    starter.kill_all()


class StartProcess:
    """Call it like `subprocess.Popen`."""

    def __init__(self) -> None:
        self.started: list[subprocess.Popen] = []

    def __call__(self, command: list, **options: object) -> subprocess.Popen:
        process = subprocess.Popen(command, start_new_session=True, **options)
        self.started.append(process)
        return process

    def kill_all(self) -> None:
        for process in self.started:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            process.wait()
