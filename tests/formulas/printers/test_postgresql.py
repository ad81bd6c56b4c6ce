"""Queries that a PostgreSQL server computes; other databases are in `test_programs.py`."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from trainlaw.formulas.printers import print_sql


@pytest.fixture
def postgres():
    """A function that runs a script on a PostgreSQL server of the test's own, and returns what it prints."""
    programs = ("initdb", "pg_ctl", "psql")
    if absent := [name for name in programs if shutil.which(name) is None]:
        pytest.skip(f"needs PostgreSQL: {absent[0]} is not on the PATH")
    folder = Path(tempfile.mkdtemp(prefix="trainlaw-postgres-"))
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    if user:  # a server refuses to run as root
        shutil.chown(folder, "nobody")

    def run(*command, **streams):
        return subprocess.run(command, cwd=folder, text=True, check=True, **user, **streams).stdout

    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    place = ("-D", str(folder / "data"))
    run("initdb", *place, "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", **quiet)
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    run("pg_ctl", *place, "-o", options, "-l", str(folder / "log"), "-w", "start", **quiet)
    psql = ("psql", "-h", str(folder), "-U", "tester", "-d", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1")
    yield lambda script: run(*psql, input=script, stdout=subprocess.PIPE)
    run("pg_ctl", *place, "-m", "immediate", "stop", **quiet)
    shutil.rmtree(folder, ignore_errors=True)


# Runs a query on all points at once, or, where it raises, on one after the other; an error is kept as a text.
POSTGRES = """
SET extra_float_digits = 3;
CREATE TABLE points (place INT, x DOUBLE PRECISION, y DOUBLE PRECISION, z DOUBLE PRECISION);
CREATE TABLE found (item INT, place INT, value TEXT);
CREATE VIEW runs AS SELECT * FROM points WHERE current_setting('test.place') IN ('all', place::TEXT);
CREATE FUNCTION compute(item INT, query TEXT) RETURNS VOID AS $body$
DECLARE one INT; answer TEXT;
BEGIN
  PERFORM set_config('test.place', 'all', false);
  EXECUTE 'INSERT INTO found SELECT ' || item || ', place, value FROM (' || query || ') AS computed';
EXCEPTION WHEN numeric_value_out_of_range THEN
  FOR one IN SELECT place FROM points LOOP
    PERFORM set_config('test.place', one::TEXT, false);
    BEGIN
      EXECUTE 'SELECT value FROM (' || query || ') AS computed' INTO answer;
    EXCEPTION WHEN numeric_value_out_of_range THEN answer := SQLERRM;
    END;
    INSERT INTO found VALUES (item, one, answer);
  END LOOP;
END $body$ LANGUAGE plpgsql;
"""


@pytest.mark.slow
def test_printed_queries_compute_the_same_in_postgresql(postgres, expressions, points, judge):
    columns = zip(*points.values(), strict=True)
    rows = ", ".join(str((place, *map(float, row))) for place, row in enumerate(columns))
    script = [POSTGRES, f"INSERT INTO points VALUES {rows};"]
    for index, item in enumerate(expressions):
        query = print_sql(item).rstrip().rstrip(";")
        script.append(f"SELECT compute({index}, $q${query}\n$q$);")
    script.append("SELECT item, place, COALESCE(value, 'nan') FROM found ORDER BY item, place;")
    lines = [line.split("|") for line in postgres("\n".join(script)).splitlines() if line]
    answers = np.array([line[2] for line in lines]).reshape(len(expressions), 60)
    compared = []
    for item, row in zip(expressions, answers, strict=True):
        # The server raises where a sum or product overflows or vanishes; the first is invalid for us, too.
        vanished = np.array(["underflow" in text for text in row])
        values = [float(text) if text[-1] in "0123456789n" else np.nan for text in row]
        compared.append(judge(item, values, ignored=vanished))
    assert np.sum(compared, axis=0)[0] > 1000
