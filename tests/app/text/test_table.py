"""One table, shown by every renderer: text, CSV, JSON, HTML and cells."""

import json

from trainlaw.app.sheets.book_plan import BookPlan, SheetWriter
from trainlaw.app.text.html import environment
from trainlaw.app.text.numbers import show_percent, show_seconds
from trainlaw.app.text.tables import Table, TableColumn, finite_json

TABLE = Table.of(
    [
        TableColumn("CNN", name="cnn"),
        TableColumn("time", name="time_s", show=show_seconds),
        TableColumn("error", "percent", unit="%", show=show_percent),
    ],
    [["=vgg16", 0.0123, 12.64], ["alexnet", 1.5, float("nan")]],
)


def test_text_shows_values_with_units_in_aligned_columns():
    assert TABLE.text().splitlines() == [
        "CNN         time  error, %",
        "=vgg16   12.3 ms      12.6",
        "alexnet    1.5 s         -",
    ]


def test_csv_and_json_have_names_and_plain_values():
    assert TABLE.csv() == "cnn,time_s,error\n'=vgg16,0.0123,12.64\nalexnet,1.5,\n"
    assert json.loads(finite_json(TABLE.records()))[1] == {"cnn": "alexnet", "time_s": 1.5, "error": None}


def test_html_has_a_class_per_column():
    macros = environment().get_template("macros.html").module
    shown = macros.show_table("Errors", TABLE)
    assert '<td class="n">12.6</td>' in shown and '<th class="">CNN</th>' in shown


def test_cells_have_the_number_format_of_the_column():
    book = BookPlan("", "")
    sheet = SheetWriter(book, "Errors", [10])
    assert sheet.table(2, TABLE) == 5
    cell = sheet.plan.cells[3, 2]
    assert (cell.value, cell.style) == (12.64, "percent") and sheet.plan.cells[4, 2].value is None
