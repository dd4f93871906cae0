#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of attnscope.open: DataFrames have the stored values and those that the program shows; errors are refused.

store_test.py BUILD_FOLDER    skipped (77) without pandas
"""
import contextlib
import gzip
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))
os.environ["ATTNSCOPE"] = str(pathlib.Path(sys.argv.pop()) / "attnscope")
try:
    import pandas
except ImportError:
    print("skipped: pandas is not installed; scripts/setup --with-tests installs Debian's")
    sys.exit(77)
import attnscope  # noqa: E402
from attnscope import _store  # noqa: E402

OLDER = SOURCE / "tests/store/small_run.attn"  # of the previous version
TKL = SOURCE / "results/tkl/run.attn.gz"       # whole models, drawn lengths, parts
UUID = "d7f7d1ce-49e6-497e-b607-ce391bd6d3e3"


def program(*arguments):
    done = subprocess.run([os.environ["ATTNSCOPE"], *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def setUpModule():
    global SMALL  # the same run in the current version
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    SMALL = pathlib.Path(folder.name) / "small.attn"
    program("import", OLDER, "--db", f"{folder.name}/small.db")
    program("export", "last", "-o", SMALL, "--db", f"{folder.name}/small.db")


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def copy(self, *statements, name="run.attn"):
        """A copy of the small run, changed by SQL statements."""
        file = self.folder / name
        shutil.copy(SMALL, file)
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement).fetchall()
        return file

    def assert_same(self, file, expected):
        store, other = attnscope.open(file), attnscope.open(expected)
        self.assertTrue(store.runs().equals(other.runs()))
        self.assertTrue(store.samples().equals(other.samples()))
        self.assertEqual(len(store.cells()), len(other.cells()))

    def file_names(self):
        return sorted(path.name for path in self.folder.iterdir())


class OlderVersion(Folder):
    def test_an_older_file_is_read_like_its_conversion(self):
        packed = self.folder / "old.attn.gz"
        packed.write_bytes(gzip.compress(OLDER.read_bytes()))
        logged = self.folder / "old.db"
        shutil.copy(OLDER, logged)
        with contextlib.closing(sqlite3.connect(logged)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        for file in (OLDER, packed, logged):
            self.assert_same(file, SMALL)
        self.assertEqual(self.file_names(), ["old.attn.gz", "old.db"])


class Packed(Folder):
    def test_a_packed_export_is_read(self):
        packed = self.folder / "run.attn.gz"
        packed.write_bytes(gzip.compress(SMALL.read_bytes()))
        for file in (packed, shutil.copy(packed, self.folder / "named.attn")):
            self.assert_same(file, SMALL)

    def test_incomplete_files_are_refused_and_leave_no_copy(self):
        whole, file = gzip.compress(SMALL.read_bytes()), self.folder / "run.attn.gz"
        with mock.patch.object(tempfile, "tempdir", str(self.folder)):
            for data, words in [(whole[:len(whole) // 2], "incomplete"), (whole[:-6] + b"123456", "are damaged"),
                                (gzip.compress(b"no database" * 100), "not a database of AttnScope")]:
                file.write_bytes(data)
                with self.assertRaisesRegex(attnscope.StoreError, f"run.attn.gz.*{words}"):
                    attnscope.open(file)
            with mock.patch.object(_store, "MOST_UNPACKED_BYTES", 1 << 10):
                file.write_bytes(whole)
                with self.assertRaisesRegex(attnscope.StoreError, "unpacks to more than"):
                    attnscope.open(file)
            self.assertEqual(self.file_names(), ["run.attn.gz"])


class Frames(Folder):
    def test_runs_have_a_row_each(self):
        runs = attnscope.open(SMALL).runs()
        run = runs.iloc[0]
        self.assertEqual((len(runs), run["uuid"], run["name"], run["status"]), (1, UUID, "version-1", "done"))
        self.assertEqual((run["heats_done"], run["heats_planned"]), (2, 2))
        self.assertEqual(run["machine"], "Intel(R) Xeon(R) Processor")
        self.assertRegex(run["commit"], "^[0-9a-f]{40}$")
        self.assertEqual(run["started"].strftime("%Y-%m-%d %H:%M %Z"), "2026-11-21 12:23 UTC")

    def test_cells_match_the_table_of_the_program(self):
        for file, options in [(SMALL, {"baseline": "full/sdpa"}), (TKL, {"only": "stage=whole"})]:
            cells = attnscope.open(file).cells("last", **options)
            table = json.loads(program("table", "last", "--db", file, "--format", "json",
                                       *(f"--{key}={value}" for key, value in options.items())))
            self.assertEqual(list(cells.columns), list(table[0]))
            self.assertEqual(len(cells), len(table))
            for row, shown in zip(cells.to_dict("records"), table):
                for column, value in shown.items():
                    mine = row[column]
                    self.assertTrue(pandas.isna(mine) if value is None else mine == value, (column, mine, value))

    def test_units_are_listed_for_columns(self):
        units = attnscope.open(SMALL).cells().attrs["units"]
        self.assertEqual((units["median_ms"], units["peak_bytes"], units["sequence_tokens"], units["clock_mhz"]),
                         ("ms", "bytes", "tokens", "MHz"))
        self.assertNotIn("contender", units)
        named = {column for column in attnscope.open(SMALL).cells().columns
                 if re.search(r"(_ms|_bytes|_flop|_tokens|_mhz|_c|_mb)(_|$)", column)}
        self.assertEqual(named - set(units), set())

    def test_samples_match_the_stored_values(self):
        for file in (SMALL, TKL):
            samples = attnscope.open(file).samples()
            plain = self.folder / "plain.attn"
            plain.write_bytes(gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes())
            with contextlib.closing(sqlite3.connect(f"file:{plain}?mode=ro", uri=True)) as connection:
                stored = connection.execute("SELECT time_ns, outlier FROM samples JOIN cells ON cells.id = cell_id "
                                            "ORDER BY heat_id, cells.ordinal, samples.ordinal").fetchall()
            self.assertEqual(list(samples["time_ms"]), [time / 1e6 for time, _ in stored])
            self.assertEqual(list(samples["outlier"]), [bool(outlier) for _, outlier in stored])
            self.assertNotIn("damaged", set(samples["status"]))
            cells = attnscope.open(file).cells("last")
            self.assertEqual(set(samples["contender"]), set(cells["contender"]))
            self.assertEqual(set(samples["sequence_tokens"]), set(cells["sequence_tokens"]))
        self.assertEqual(samples.attrs["units"]["time_ms"], "ms")

    def test_a_figure_is_the_svg_of_the_program(self):
        store = attnscope.open(SMALL)
        try:
            figure = store.figure("last", y="memory")
        except attnscope.ProgramError as error:
            if "without" in str(error) and error.exit_code == 2:
                self.skipTest(str(error))
            raise
        self.assertIn("<svg", figure._repr_svg_()[:500])
        figure.save(self.folder / "figure.pdf")
        self.assertTrue((self.folder / "figure.pdf").read_bytes().startswith(b"%PDF"))
        with self.assertRaisesRegex(attnscope.ProgramError, "y"):
            store.figure("last", y="nonsense")


class Names(Folder):
    def test_runs_are_found_by_last_number_uuid_or_name(self):
        file = self.copy("UPDATE runs SET name = 'for the paper'")
        store = attnscope.open(file)
        for name in ("last", 1, "1", UUID, UUID[:4], "for the paper"):
            self.assertEqual(set(store.samples(name)["run"]), {UUID})
        with self.assertRaisesRegex(attnscope.StoreError, "there is no run 'd7f' in .*runs\\(\\) lists them"):
            store.samples("d7f")

    def test_trashed_runs_are_not_listed(self):
        store = attnscope.open(self.copy("UPDATE runs SET trashed_unix_ms = 1"))
        self.assertEqual((len(store.runs()), len(store.runs(trash=True)), len(store.cells())), (0, 1, 0))
        with self.assertRaises(attnscope.StoreError):
            store.samples("last")

    def test_a_missing_program_is_one_sentence(self):
        store = attnscope.open(SMALL)
        kept = os.environ.pop("ATTNSCOPE")
        self.addCleanup(os.environ.__setitem__, "ATTNSCOPE", kept)
        os.environ["ATTNSCOPE"] = "/nowhere/attnscope"
        with self.assertRaisesRegex(attnscope.ProgramError, r"^\$ATTNSCOPE names /nowhere/attnscope, .* set it to"):
            store.cells()


class Damage(Folder):
    def test_changed_values_are_damaged_and_have_no_numbers(self):
        for change in ("UPDATE samples SET time_ns = time_ns + 1 WHERE cell_id = 1 AND ordinal = 0",
                       "UPDATE samples SET time_ns = 'many' WHERE cell_id = 1 AND ordinal = 0",
                       "UPDATE cells SET batch = 2 WHERE id = 1", "UPDATE cells SET batch = 'x' WHERE id = 1",
                       "UPDATE cells SET median_ns = median_ns / 2 WHERE id = 1",
                       "UPDATE heats SET threads = 64 WHERE id = 1"):
            store = attnscope.open(self.copy(change))
            samples = store.samples()
            damaged = samples[samples["status"] == "damaged"]
            cells = 2 if "heats" in change else 1
            self.assertEqual(len(damaged), cells, change)
            self.assertTrue(damaged["time_ms"].isna().all())
            self.assertEqual(len(samples), 16 - 4 * cells + cells)
            shown = store.cells()
            self.assertEqual((shown["status"] == "damaged").sum(), cells, change)
            self.assertTrue(shown[shown["status"] == "damaged"]["median_ms"].isna().all())

    def test_a_run_with_a_changed_row_is_damaged(self):
        for change in ("UPDATE runs SET device = 'a faster one'", "UPDATE runs SET heats_planned = 'x'",
                       "UPDATE runs SET note = 'another'", "DELETE FROM heats WHERE id = 1", "DELETE FROM ceilings"):
            self.assertEqual(attnscope.open(self.copy(change)).runs()["status"][0], "damaged", change)

    def test_a_run_without_its_process_is_interrupted(self):
        store = attnscope.open(self.copy("UPDATE runs SET status = 'running'"))
        run = store._read(_store._runs)[0]
        run["state_fingerprint"] = _store._fingerprint(
            run["uuid"], *_store._from(run, "status", "state_fingerprint"), run["restarts"], run["ceilings"])
        self.assertEqual(_store._status(run), "interrupted")

    def test_damaged_pages_are_one_sentence(self):
        file = self.copy()
        with open(file, "r+b") as bytes_of_file:
            bytes_of_file.seek(4096)
            bytes_of_file.write(b"\xff" * 60000)
        with self.assertRaisesRegex(attnscope.StoreError, "^the database .* is damaged .*check-store"):
            attnscope.open(file).samples()


class Refusals(Folder):
    def refused(self, file, words):
        with self.assertRaisesRegex(attnscope.StoreError, words) as caught:
            attnscope.open(file)
        self.assertNotIn("\n", str(caught.exception))

    def test_files_that_are_not_stores_are_refused(self):
        (self.folder / "text").write_text("no database\n" * 100)
        (self.folder / "empty").touch()
        with contextlib.closing(sqlite3.connect(self.folder / "other")) as other:
            other.execute("CREATE TABLE theirs (x)")
        for name, words in (("text", "is not a database of AttnScope"), ("empty", "is empty"),
                            ("other", "of another program"), ("none", "there is no file"), ("", "is a folder")):
            self.refused(self.folder / name, words)
        self.assertEqual(self.file_names(), ["empty", "other", "text"])

    def test_other_versions_and_code_are_refused(self):
        self.refused(self.copy("PRAGMA user_version = 99"), "a newer AttnScope .database version 99")
        self.refused(self.copy("PRAGMA user_version = 7"), "an older AttnScope")
        self.refused(self.copy("CREATE VIEW v AS SELECT 1"), "views or triggers")


class Reading(Folder):
    def test_reading_changes_no_file(self):
        file = self.copy(name="store.db")
        before = file.read_bytes()
        store = attnscope.open(file)
        self.assertEqual((len(store.runs()), len(store.samples())), (1, 16))
        self.assertEqual(self.file_names(), ["store.db"])
        self.assertEqual(file.read_bytes(), before)

    def test_writes_of_another_process_are_visible(self):
        file = self.copy(name="store.db")
        with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as writer:
            writer.execute("UPDATE runs SET note = 'new'")
            self.assertEqual(attnscope.open(file).runs()["note"][0], "new")
            writer.execute("BEGIN IMMEDIATE")  # does not block readers
            writer.execute("UPDATE runs SET note = 'newer'")
            self.assertEqual(attnscope.open(file).runs()["note"][0], "new")

    def test_the_default_database_is_that_of_the_program(self):
        os.environ["XDG_DATA_HOME"] = str(self.folder)
        self.addCleanup(os.environ.pop, "XDG_DATA_HOME")
        self.assertEqual(attnscope._store.default_database(), f"{self.folder}/attnscope/attnscope.db")
        with self.assertRaisesRegex(attnscope.StoreError, f"there is no file {self.folder}/attnscope/attnscope.db"):
            attnscope.open()


class Agreement(unittest.TestCase):
    """Tests that what Python and C++ both define is the same."""

    def test_the_version_matches_the_schema(self):
        text = (SOURCE / "engine/store/location.h").read_text()
        self.assertEqual(_store.SCHEMA_VERSION, int(re.search(r"schema_version = (\d+)", text).group(1)))
        self.assertEqual(_store.APPLICATION_ID, int(re.search(r"application_id = (0x\w+)", text).group(1), 16))


if __name__ == "__main__":
    unittest.main()
