"""Tables of the report."""

from collections.abc import Sequence

from trainlaw.app.text.svg import escape


def table_html(
    caption: str, header: Sequence[str], rows: Sequence[Sequence[object]], classes: Sequence[str]
) -> str:
    """Return a table that scrolls sideways where it is too wide.

    header, rows : texts, which are escaped. classes : one per column; "n" is a number, "formula" code.
    """
    head = "".join(
        f'<th class="{kind}">{escape(title)}</th>' for title, kind in zip(header, classes, strict=True)
    )
    body = "\n".join(
        "<tr>"
        + "".join(f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in zip(row, classes, strict=True))
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><caption><span>{escape(caption)}</span></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
