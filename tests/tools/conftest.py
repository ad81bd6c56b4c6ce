import importlib.util
import sys
from pathlib import Path

# The tools are not installed, and the root of the checkout must not be on the path: it holds folders named as
# other packages are.
_FOLDER = Path(__file__).parents[2] / "tools"
_SPEC = importlib.util.spec_from_file_location(
    "tools", _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)]
)
sys.modules["tools"] = importlib.util.module_from_spec(_SPEC)
