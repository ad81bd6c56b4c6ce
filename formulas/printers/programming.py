"""A formula as a function of Python, C, JavaScript, R or Julia: a table of texts per language.

Each printer takes a formula and the name of the function, and returns its source: features in their units in,
target out. Grouped constants take the group's label as a further argument. The function gives nan where the
formula is not valid. Those of Python, R and Julia need no package.
"""

import json
import keyword
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from trainlaw.formulas.files.toml_tables import toml_table
from trainlaw.formulas.printers.functions import FunctionForm
from trainlaw.formulas.printers.language import Language, calls, plain_number
from trainlaw.formulas.printers.naming import unicode_literal

# Characters without a meaning inside a literal, also to a trigraph or a comment.
_PLAIN = " -_.,:;()+@/=|"


def c_text(text: str) -> str:
    """Return a C string literal of the UTF-8 bytes of a text.

    >>> c_text('a"b')
    '"a\\\\042b"'
    """
    plain = "".join(
        chr(byte) if byte < 128 and (chr(byte).isalnum() or chr(byte) in _PLAIN) else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'


def javascript_text(text: str) -> str:
    """Return a JavaScript string literal that is safe inside a script element of a page, too.

    >>> javascript_text("</script>")
    '"\\\\u003c/script>"'
    """
    return json.dumps(text).replace("<", "\\u003c")


_TABLE = toml_table(__file__, "languages.toml")
_LITERALS: Mapping[str, Callable[[str], str]] = {
    **{".py": repr, ".c": c_text, ".js": javascript_text},
    **dict.fromkeys((".R", ".jl"), unicode_literal),
}


def _language(suffix: str, row: Mapping[str, Any]) -> Language:
    return Language(
        forms=calls(*row["calls"].split(), prefix=row.get("prefix", "")) | row["forms"],
        number=plain_number(repr),
        finite=row["finite"],
        raising=row.get("raising", ()),
        helpers=row["helpers"],
        text_literal=_LITERALS[suffix],
        reserved=frozenset((*row["reserved"].split(), *(keyword.kwlist if suffix == ".py" else ()))),
    )


#: Languages by suffix.
LANGUAGES = MappingProxyType({suffix: _language(suffix, row) for suffix, row in _TABLE.items()})
PYTHON, JAVASCRIPT = LANGUAGES[".py"], LANGUAGES[".js"]
#: Functions of features, without tables of GPUs and CNNs, by suffix.
FUNCTIONS: Mapping[str, Callable[..., str]] = MappingProxyType(
    {suffix: FunctionForm(LANGUAGES[suffix], **row["function"]).write for suffix, row in _TABLE.items()}
)
