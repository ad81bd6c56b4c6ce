import sqlite3

import numpy as np
import pytest
from trainlaw.formulas.printers import print_sql


def sqlite_with(points):
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE runs (x DOUBLE, y DOUBLE, z DOUBLE)")
    connection.executemany("INSERT INTO runs VALUES (?, ?, ?)", list(zip(*points.values(), strict=True)))
    return connection


def duckdb_with(points):
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb, which is not installed")
    connection = duckdb.connect()
    connection.execute("CREATE TABLE runs (x DOUBLE, y DOUBLE, z DOUBLE)")
    connection.executemany(
        "INSERT INTO runs VALUES (?, ?, ?)",
        [list(map(float, row)) for row in zip(*points.values(), strict=True)],
    )
    return connection


@pytest.mark.parametrize("connect", [sqlite_with, duckdb_with])
def test_printed_queries_compute_the_same(connect, expressions, points, judge):
    connection = connect(points)
    if connect is sqlite_with:
        try:
            connection.execute("SELECT LN(2.0), POWER(2.0, 0.5)")
        except sqlite3.OperationalError:
            pytest.skip("needs SQLite with mathematical functions")
    compared = []
    for item in expressions:
        rows = connection.execute(print_sql(item)).fetchall()
        compared.append(judge(item, [np.nan if row[-1] is None else row[-1] for row in rows]))
    assert np.sum(compared, axis=0)[0] > 1000
