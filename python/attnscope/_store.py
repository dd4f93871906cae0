# SPDX-License-Identifier: Apache-2.0
"""Runs, cells and samples of a database as pandas DataFrames.

Databases are only read. Runs and samples come from the tables that engine/store/schema.sql documents; the fingerprint
of each cell is checked. Cells come from `attnscope table --format json`, because only the program computes medians,
intervals and the values derived from them. The program first converts a file of an older version.
"""
import contextlib
import gzip
import json
import math
import os
import pathlib
import pwd
import sqlite3
import struct
import tempfile
import urllib.parse
import zlib

from . import _program
from ._errors import ProgramError, StoreError

APPLICATION_ID = 0x41745363  # engine/store/location.h
SCHEMA_VERSION = 10
OLDEST_VERSION = 8  # older ones are converted
MOST_UNPACKED_BYTES = 512 << 20  # engine/store/implementation.h

# The units of every column that has one, in cells() and in samples().
UNITS = {
    "sequence_tokens": "tokens", "query_tokens": "tokens", "document_tokens": "tokens", "window": "tokens",
    "batch_memory_mb": "MB", "batch": "items", "batch_max": "items",
    "median_ms": "ms", "low_ms": "ms", "high_ms": "ms", "p95_ms": "ms", "limit_ms": "ms",
    "time_ms": "ms", "cpu_ms": "ms", "waited_ms": "ms",
    "ms_per_document": "ms/document", "ms_per_1000_tokens": "ms/(1000 tokens)",
    "documents_per_ms": "documents/ms", "documents_per_ms_low": "documents/ms", "documents_per_ms_high": "documents/ms",
    "peak_bytes": "bytes", "peak_bytes_per_document": "bytes/document", "reserved_bytes": "bytes",
    "workspace_bytes": "bytes", "process_peak_bytes": "bytes", "cache_bytes": "bytes",
    "least_bytes": "bytes", "executed_bytes": "bytes", "useful_flop": "FLOP", "executed_flop": "FLOP",
    "clock_mhz": "MHz", "temperature_c": "°C", "power_w": "W", "enqueue_ms": "ms", "foreign_load": "cores",
}
_OTHER_HEAT_COLUMNS = ("id", "run_number", "heat_index", "cell_count", "restart")
_TRUTHS = ("shared_query", "batch_per_contender")
# Errors from values of other types than the schema's: the row is damaged.
_OTHER_KINDS = (AttributeError, OverflowError, TypeError, ValueError, struct.error)


def open(file=None):  # attnscope.open
    """The store in a database or an exported file, .attn or .attn.gz; default: the program's database."""
    store = Store(default_database() if file is None else file)
    store._read(lambda connection: None)  # raises errors now, not at the first use
    return store


def default_database():
    """$XDG_DATA_HOME/attnscope/attnscope.db or ~/.local/share/attnscope/attnscope.db."""
    data = os.environ.get("XDG_DATA_HOME", "")
    if not data.startswith("/"):
        home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
        data = os.path.join(home, ".local", "share")
    return os.path.join(data, "attnscope", "attnscope.db")


class Store:
    """A store, from attnscope.open(). No file stays open between calls."""

    def __init__(self, file):
        self.file = pathlib.Path(file)

    def __repr__(self):
        return f"attnscope.open({str(self.file)!r})"

    def runs(self, trash=False):
        """A row for each run, the newest first; with `trash`, those in the trash instead. A damaged run has the status
        `damaged`."""
        pandas = _pandas()
        rows = [{
            "uuid": run["uuid"], "number": run["number"], "name": run["name"] or run["sweep_name"],
            "sweep": run["sweep_name"], "tags": run["tag"],
            "started": _time(pandas, run["started_unix_ms"]), "finished": _time(pandas, run["finished_unix_ms"]),
            "machine": run["device"], "commit": _commit(run["provenance"]), "status": _status(run),
            "heats_done": run["heats_done"], "heats_planned": run["heats_planned"], "note": run["note"],
        } for run in self._read(_runs) if (run["trashed_unix_ms"] != 0) == trash]
        columns = ("uuid", "number", "name", "sweep", "tags", "started", "finished", "machine", "commit", "status",
                   "heats_done", "heats_planned", "note")
        return _frame(pandas, rows, columns)

    def cells(self, run=None, baseline=None, only=None):
        """A row for each cell, with the columns and values of `attnscope table RUN --format json`; `attrs["units"]` has
        the units. Without `run`, the cells of every run that is not in the trash. `baseline` (a contender) adds ratios,
        `only` ("device=cpu,window=4") selects cells. A cell without a time has a `status` and a `reason`; damaged cells
        have the status `damaged`. The window "inf" is infinity."""
        pandas = _pandas()
        listed = self._read(_runs)
        chosen = [each for each in listed if each["trashed_unix_ms"] == 0] if run is None else [self._find(listed, run)]
        options = _options(baseline=baseline, only=only)
        rows = [row for each in chosen for row in json.loads(_program.run(
            "table", each["uuid"], "--db", self.file, "--format", "json", *options))]
        for row in rows:
            row["window"] = _window(row["window"])
        return _frame(pandas, rows)

    def samples(self, run="last"):
        """A row for each timed sample, with its cell and heat. A cell that does not match its fingerprints has one row
        with the status `damaged` and without numbers. `heat` and `cell` count from 0 within the sweep and the heat."""
        pandas = _pandas()
        chosen = self._find(self._read(_runs), run)
        cells = self._read(lambda connection: _cells_with_samples(connection, chosen["number"]))
        axes = self._read(lambda connection: [column for column in _columns(connection, "heats")
                                              if column not in _OTHER_HEAT_COLUMNS])
        rows = []
        for heat, cell, samples in cells:
            damaged = _is_damaged(chosen["uuid"], heat, cell, samples)
            first = {"run": chosen["uuid"], "heat": heat["heat_index"], "cell": cell["ordinal"],
                     "contender": "/".join(filter(None, (cell["model"] or cell["pattern"], cell["implementation"],
                                                         cell["attention_window"]))),
                     "name": cell["name"], "implementation": cell["implementation"], "pattern": cell["pattern"],
                     "model": cell["model"] or None, "window": _window(cell["attention_window"])}
            first.update((axis, heat[axis]) for axis in axes)
            first.update((key, bool(first[key])) for key in _TRUTHS)
            first["status"] = "damaged" if damaged else cell["status"]
            rows += [first] if damaged else [{**first, **_shown(sample)} for sample in samples]
        columns = ["run", "heat", "cell", "contender", "name", "implementation", "pattern", "model", "window",
                   *axes, "status", *_SHOWN]
        return _frame(pandas, rows, columns)

    def figure(self, run="last", y="time", facet=None, **options):
        """The figure that `attnscope plot` draws of the run, as SVG in a notebook; `.save` writes .svg, .pdf or .png.
        Other options are those of `attnscope plot`: x="window", only="device=cpu", crossovers=True."""
        chosen = self._find(self._read(_runs), run)
        return _program.Figure(chosen["uuid"], ["--db", self.file, *_options(y=y, facet=facet, **options)])

    def _find(self, runs, text):
        """Finds a run like the program: "last", a number, at least 4 characters of a UUID's start, or a run's name."""
        text = str(text)
        if text == "last":
            found = [run for run in runs if run["trashed_unix_ms"] == 0][:1]
        else:
            found = (text.isdecimal() and [run for run in runs if run["number"] == int(text)]) or (
                len(text) >= 4 and [run for run in runs if run["uuid"].startswith(text)]) or (
                [run for run in runs if text and run["name"] == text])
        if len(found) == 1:
            return found[0]
        if not runs:
            raise StoreError(f"{self.file} has no runs yet; attnscope run creates one")
        if found:
            raise StoreError(f"{len(found)} runs of {self.file} are called '{text}'; give a run's number or more of the "
                             "UUID; runs() lists them")
        raise StoreError(f"there is no run '{text}' in {self.file}; give 'last', a number or the start of a UUID; runs() "
                         "lists them")

    def _read(self, work):
        """Returns work(connection), on one state of the database."""
        self._look_at_file()
        try:
            with contextlib.closing(self._connect()) as connection:
                connection.execute("BEGIN")
                if connection.execute("SELECT 1 FROM sqlite_master WHERE type NOT IN ('table', 'index')").fetchone():
                    raise StoreError(f"{self.file} has views or triggers, which no database of AttnScope has; do not "
                                     "trust it; open another file")
                return work(connection)
        except sqlite3.Error as error:
            raise StoreError(self._words(error)) from None

    def _connect(self):
        # `immutable` creates no files next to a database of an older version, which has a log.
        connection = _connect(self.file.resolve(), "mode=ro&immutable=1")
        try:
            version = self._version(connection)
        except sqlite3.Error as error:
            connection.close()
            # Only a file that is not a database is opened directly: closing a database's file would drop its locks.
            if "not a database" not in str(error) or not self._is_packed():
                raise
            connection = self._connect_unpacked()
            version = self._version(connection)
        else:
            connection.close()
            connection = _connect(self.file.resolve(), "mode=ro")
        if version == SCHEMA_VERSION:
            return connection
        connection.close()
        return self._connect_converted()

    def _connect_converted(self):
        with tempfile.TemporaryDirectory(prefix="attnscope-") as folder:
            converted = os.path.join(folder, "converted.db")
            try:
                _program.run("import", self.file, "--db", converted)
            except ProgramError as error:
                raise StoreError(str(error)) from None
            connection = _connect(converted, "mode=ro&immutable=1")
            connection.execute("SELECT count(*) FROM sqlite_master")  # opens the file before its name is deleted
            return connection

    def _is_packed(self):
        with self.file.open("rb") as file:
            return file.read(2) == b"\x1f\x8b"

    def _connect_unpacked(self):
        """A connection to an unpacked copy, whose file is deleted once it is open."""
        with tempfile.NamedTemporaryFile(prefix="attnscope-") as copy:
            try:
                with gzip.open(self.file) as packed:
                    while part := packed.read(1 << 20):
                        if copy.tell() + len(part) > MOST_UNPACKED_BYTES:
                            raise StoreError(f"{self.file} unpacks to more than {MOST_UNPACKED_BYTES >> 20} MiB; unpack it "
                                             "with gunzip, and open the unpacked file")
                        copy.write(part)
                copy.flush()
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise StoreError(f"{self.file}: its gzip data are damaged or incomplete ({error}); copy it again") from None
            except OSError as error:
                raise StoreError(f"{self.file} cannot be unpacked in {tempfile.gettempdir()} ({error.strerror}); free disk "
                                 "space there, or set TMPDIR to another folder") from None
            connection = _connect(copy.name, "mode=ro&immutable=1")
            connection.execute("SELECT count(*) FROM sqlite_master")
            return connection

    def _look_at_file(self):
        try:
            state = self.file.stat()
        except FileNotFoundError:
            raise StoreError(f"there is no file {self.file}; check its name, or create it with attnscope run") from None
        except OSError as error:
            raise StoreError(f"{self.file} cannot be read ({error.strerror}); make it readable, or open another file"
                             ) from None
        if self.file.is_dir():
            raise StoreError(f"{self.file} is a folder, not a database; open a file in it")
        if not self.file.is_file():
            raise StoreError(f"{self.file} is not a regular file; open another file")
        if state.st_size == 0:
            raise StoreError(f"{self.file} is empty; attnscope run fills it; or open another file")

    def _version(self, connection):
        application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0]
                                for name in ("application_id", "user_version"))
        if application != APPLICATION_ID:
            raise StoreError(f"{self.file} is a database of another program (application id {application}, AttnScope's is "
                             f"{APPLICATION_ID}); open another file")
        if not OLDEST_VERSION <= version <= SCHEMA_VERSION:
            age = "a newer" if version > SCHEMA_VERSION else "an older"
            raise StoreError(f"{self.file} was written by {age} AttnScope (database version {version}; this package reads "
                             f"{SCHEMA_VERSION}); use the package of that AttnScope, or open another file")
        return version

    def _words(self, error):
        words = str(error)
        if "not a database" in words:
            return f"{self.file} is not a database of AttnScope; open another file"
        if "locked" in words:
            return f"{self.file} is locked by another program; try again when that has finished"
        if "readonly" in words:
            return (f"{self.file} has an unfinished change of a program that ended; "
                    f"attnscope list runs --db {self.file} rolls the change back")
        if "unable to open" in words:
            return f"{self.file} cannot be read ({words}); make it and the files next to it readable, or copy them elsewhere"
        return (f"the database {self.file} is damaged ({words}); attnscope check-store --db {self.file} reports what can be "
                "recovered, and how")


def _connect(file, how):
    connection = sqlite3.connect(f"file:{urllib.parse.quote(str(file))}?{how}", uri=True, timeout=5, isolation_level=None)
    connection.row_factory = sqlite3.Row
    connection.text_factory = lambda text: text.decode(errors="surrogateescape")
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _fingerprint(*values):
    """As base/fingerprint.h defines it for stored values."""
    state = 0xCBF29CE484222325
    for value in values:
        if value is None:
            data = b"\0"
        elif isinstance(value, int):
            data = b"\1" + struct.pack("<q", value)
        elif isinstance(value, float):
            data = b"\2" + struct.pack("<d", value)
        else:
            text = value.encode(errors="surrogateescape")
            data = b"\3" + struct.pack("<q", len(text)) + text
        for byte in data:
            state = ((state ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return state - (1 << 64) if state >> 63 else state  # signed, as it is stored


def _real(value):
    """A REAL that is not a number is stored as the text 'nan'."""
    return math.nan if value == "nan" else float(value)


_SHOWN = ("process", "placement", "round", "time_ms", "iterations", "involuntary_switches", "foreign_load", "clock_mhz",
          "temperature_c", "throttled", "cpu_ms", "waited_ms", "power_w", "outlier")


def _shown(sample):
    values = {key: sample[key] for key in _SHOWN if not key.endswith("_ms")}
    for key in ("time", "cpu", "waited"):
        nanoseconds = sample[f"{key}_ns"]
        values[f"{key}_ms"] = None if nanoseconds is None else _real(nanoseconds) / 1e6
    for key in ("foreign_load", "clock_mhz", "temperature_c", "power_w"):
        values[key] = None if values[key] is None else _real(values[key])
    return {**values, "throttled": bool(sample["throttled"]), "outlier": bool(sample["outlier"])}


def _runs(connection):
    """The runs, newest first, as dicts of their columns and the numbers of their parts."""
    return [dict(row) for row in connection.execute(
        "SELECT runs.*, (SELECT count(*) FROM heats WHERE run_number = number) AS heats_done, "
        "(SELECT count(*) FROM restarts WHERE run_number = number) AS restarts, "
        "(SELECT count(*) FROM ceilings WHERE run_number = number) AS ceilings FROM runs NOT INDEXED "
        "ORDER BY number DESC")]


def _cells_with_samples(connection, number):
    """Heat, cell, samples: of every cell, in the order of measuring."""
    cells = "SELECT * FROM cells WHERE heat_id = ? ORDER BY ordinal"
    samples = "SELECT * FROM samples WHERE cell_id = ? ORDER BY ordinal"
    return [(heat, cell, connection.execute(samples, (cell["id"],)).fetchall())
            for heat in connection.execute("SELECT * FROM heats WHERE run_number = ? ORDER BY id", (number,)).fetchall()
            for cell in connection.execute(cells, (heat["id"],)).fetchall()]


def _columns(connection, table):
    return [row["name"] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _from(row, first, last=None):
    """The values of the columns from `first` to the one before `last`."""
    names = list(row.keys())
    return [row[name] for name in names[names.index(first):None if last is None else names.index(last)]]


def _is_damaged(uuid, heat, cell, samples):
    try:
        return cell["fingerprint"] != _fingerprint(
            uuid, *_from(heat, "heat_index"), *_from(cell, "ordinal", "fingerprint"),
            *(value for sample in samples for value in _from(sample, "ordinal")))
    except _OTHER_KINDS:
        return True


def _status(run):
    try:
        sound = (run["fingerprint"] == _fingerprint(*_from(run, "uuid", "fingerprint"))
                 and run["state_fingerprint"] == _fingerprint(
                     run["uuid"], *_from(run, "status", "state_fingerprint"), run["restarts"], run["ceilings"]))
    except _OTHER_KINDS:
        sound = False
    if not sound or run["heats_done"] != run["heats_stored"]:
        return "damaged"
    if run["status"] == "running" and not _is_alive(run["process_id"], run["process_start_ticks"]):
        return "interrupted"
    return run["status"]


def _is_alive(process, start_ticks):
    """Whether the measuring process still runs, and not a later one with the same number."""
    try:
        fields = pathlib.Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return False
    return process > 0 and fields[0] not in "ZX" and fields[19:20] == [str(start_ticks)]


def _commit(provenance):
    """The commit of the program that started the run, or None if it is not known."""
    try:
        return json.loads(provenance)["driver"]["commit"]
    except (ValueError, KeyError, TypeError):
        return None


def _time(pandas, unix_ms):
    return pandas.Timestamp(unix_ms, unit="ms", tz="UTC") if unix_ms else pandas.NaT


def _window(value):
    """The window in tokens: infinity if it covers everything, None for a pattern without windows."""
    return None if value is None else float(value)


def _options(**values):
    """Converts baseline="full/sdpa", crossovers=True to --baseline=full/sdpa --crossovers."""
    options = []
    for name, value in values.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            options.append(option)
        elif value is not None and value is not False:
            options.append(f"{option}={','.join(value) if isinstance(value, (list, tuple)) else value}")
    return options


def _pandas():
    try:
        import pandas
    except ImportError:
        raise ImportError("this needs pandas, which is not installed here; run pip install "
                          "'attnscope[pandas]' or install your system's package") from None
    return pandas


def _frame(pandas, rows, columns=None):
    if columns is None:  # in the order of the first row, then those that only later rows have
        columns = list(dict.fromkeys(key for row in rows for key in row))
    frame = pandas.DataFrame.from_records(rows, columns=list(columns))
    if "window" in frame:
        frame["window"] = frame["window"].astype("float64")
    frame.attrs["units"] = {column: UNITS[column] for column in frame.columns if column in UNITS}
    return frame
