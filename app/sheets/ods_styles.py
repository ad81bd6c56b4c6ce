"""The styles of .ods files: of cells, columns, rows, numbers and pages."""

from collections.abc import Mapping

from trainlaw.app.sheets.plan import FONT, LINE_POINTS, STYLES, BookPlan

_SPACES = {
    "office": "office",
    "table": "table",
    "text": "text",
    "style": "style",
    "draw": "drawing",
    "chart": "chart",
    "number": "datastyle",
    "meta": "meta",
}
_ODF = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for short, name in _SPACES.items()
)
NAMESPACES = (
    f'{_ODF} xmlns:fo="urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0" '
    'xmlns:svg="urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0" '
    'xmlns:of="urn:oasis:names:tc:opendocument:xmlns:of:1.2" '
    'xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:dc="http://purl.org/dc/elements/1.1/"'
)
_CHARACTER_CM = 0.215  # width of a digit in the font of the sheets, with its share of the margin


def _number(decimals: int, grouping: bool = False) -> str:
    return (
        f'<number:number number:decimal-places="{decimals}" number:min-decimal-places="{decimals}" '
        f'number:min-integer-digits="1" number:grouping="{str(grouping).lower()}"/>'
    )


def _style(name: str, content: str, kind: str = "number") -> str:
    return f'<number:{kind}-style style:name="{name}">{content}</number:{kind}-style>'


_GENERAL = '<number:number number:min-integer-digits="1"/>'
_SCIENTIFIC = (
    '<number:scientific-number number:decimal-places="2" number:min-decimal-places="2" '
    'number:min-integer-digits="1" number:min-exponent-digits="2"/>'
)


def _map(condition: str, style: str) -> str:
    return f'<style:map style:condition="{condition}" style:apply-style-name="{style}"/>'


# One row per number format of the plan: name of the style, and what defines it.
_NUMBERS: Mapping[str, tuple[str, str]] = {
    "General": ("n1", _style("n1", _GENERAL)),
    "time": (
        "n2",
        _style("n2a", _number(0))
        + _style("n2b", _SCIENTIFIC)
        + _style("n2", _number(4) + _map("value()=0", "n2a") + _map("value()&lt;0.001", "n2b")),
    ),
    "amount": (
        "n3",
        _style("n3a", _GENERAL) + _style("n3", _number(0, True) + _map("value()&lt;1000", "n3a")),
    ),
    "0 %": ("n4", _style("n4", _number(0) + "<number:text>%</number:text>", "percentage")),
    "0.0 %": ("n5", _style("n5", _number(1) + "<number:text>%</number:text>", "percentage")),
    "#,##0": ("n6", _style("n6", _number(0, True))),
    "#,##0.0": ("n7", _style("n7", _number(1, True))),
    "#,##0.00": ("n8", _style("n8", _number(2, True))),
    "0.000000": ("n9", _style("n9", _number(6))),
}


def column_style(width: float) -> str:
    """Return the name of the style of a column, by its width in characters."""
    return f"co{width:g}".replace(".", "_")


def row_style(points: float) -> str:
    """Return the name of the style of a row, by its height in points."""
    return f"ro{points:g}".replace(".", "_") if points != LINE_POINTS else "ro1"


def automatic_styles(plan: BookPlan) -> str:
    """Return the styles that the cells, columns and rows of a plan refer to."""
    widths = sorted({width for sheet in plan.sheets for width in sheet.widths})
    columns = "".join(
        f'<style:style style:name="{column_style(width)}" style:family="table-column">'
        f'<style:table-column-properties style:column-width="{width * _CHARACTER_CM:.2f}cm"/></style:style>'
        for width in widths
    )
    heights = sorted({LINE_POINTS, *(points for sheet in plan.sheets for points in sheet.heights.values())})
    rows = "".join(
        f'<style:style style:name="{row_style(points)}" style:family="table-row">'
        f'<style:table-row-properties style:row-height="{points:g}pt" '
        'style:use-optimal-row-height="false"/></style:style>'
        for points in heights
    )
    numbers = "".join(text for _, text in _NUMBERS.values())
    cells = "".join(_cell_style(name, options) for name, options in STYLES.items())
    table = (
        '<style:style style:name="ta1" style:family="table" style:master-page-name="Default">'
        '<style:table-properties table:display="true"/></style:style>'
    )
    return f"<office:automatic-styles>{numbers}{columns}{rows}{table}{cells}</office:automatic-styles>"


def _cell_style(name: str, options: Mapping[str, object]) -> str:
    cell = 'style:vertical-align="top"'
    if "bg_color" in options:
        cell += f' fo:background-color="{options["bg_color"]}"'
    if options.get("wrap"):
        cell += ' fo:wrap-option="wrap"'
    if options.get("line"):
        cell += ' fo:border-bottom="0.5pt solid #000000"'
    if "border" in options:
        cell += f' fo:border="0.5pt solid {options["border"]}"'
    side = {"left": "start", "right": "end"}.get(str(options.get("align")), "")
    paragraph = f' fo:text-align="{side}"' if side else ""
    paragraph += ' fo:margin-left="0.3cm"' if options.get("indent") else ""
    text = f'style:font-name="{FONT}" fo:font-family="{FONT}" fo:font-size="{options.get("size", 11)}pt"'
    text += ' fo:font-weight="bold"' if options.get("bold") else ""
    text += ' fo:font-style="italic"' if options.get("italic") else ""
    text += f' fo:color="{options["color"]}"' if "color" in options else ""
    number = f' style:data-style-name="{_NUMBERS[str(options["number"])][0]}"' if "number" in options else ""
    return (
        f'<style:style style:name="{name}" style:family="table-cell"{number}>'
        f'<style:table-cell-properties {cell} style:text-align-source="{"fix" if side else "value-type"}"/>'
        f"<style:paragraph-properties{paragraph}/><style:text-properties {text}/></style:style>"
    )


STYLES_XML = (
    f'<?xml version="1.0" encoding="UTF-8"?><office:document-styles {NAMESPACES} office:version="1.3">'
    '<office:automatic-styles><style:page-layout style:name="page"><style:page-layout-properties '
    'fo:page-width="29.7cm" fo:page-height="21cm" style:print-orientation="landscape" fo:margin="1cm" '
    'style:scale-to-X="1" style:scale-to-Y="0"/></style:page-layout></office:automatic-styles>'
    '<office:master-styles><style:master-page style:name="Default" style:page-layout-name="page"/>'
    "</office:master-styles></office:document-styles>"
)
