# SPDX-License-Identifier: Apache-2.0
"""Runs the program attnscope, which computes tables and draws figures."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from ._errors import ProgramError


def find():
    """$ATTNSCOPE, otherwise the program on PATH, otherwise that in build/release of the checkout of this package."""
    named = os.environ.get("ATTNSCOPE")
    if named:
        if shutil.which(named) is None:
            raise ProgramError(f"$ATTNSCOPE names {named}, which cannot be run; "
                               "set it to the path of attnscope")
        return named
    built = pathlib.Path(__file__).resolve().parents[2] / "build" / "release" / "attnscope"
    found = shutil.which("attnscope") or shutil.which(str(built))
    if found is None:
        raise ProgramError("the program attnscope, which computes tables and draws figures, is not on PATH; install or "
                           "build it (scripts/setup), and put it on PATH or set $ATTNSCOPE to its path")
    return found


def run(*arguments):
    """Runs the program and returns its output. An error has the program's message."""
    try:
        done = subprocess.run([find(), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError as error:
        raise ProgramError(f"the program attnscope cannot be started ({error.strerror}); set $ATTNSCOPE to the path of "
                           "a working one") from None
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        sentence = lines[-1] if lines else f"the program attnscope ended with {done.returncode} without a message"
        raise ProgramError(sentence[len("attnscope: "):] if sentence.startswith("attnscope: ") else sentence,
                           done.returncode)
    return done.stdout.decode()


class Figure:
    """A figure as `attnscope plot` draws it; notebooks show it as SVG."""

    def __init__(self, run_uuid, options):
        self._plot = ["plot", run_uuid, *options]
        with tempfile.TemporaryDirectory(prefix="attnscope-") as folder:
            file = pathlib.Path(folder) / "figure.svg"
            self.save(file)
            self.svg = file.read_text(encoding="utf-8")

    def _repr_svg_(self):
        return self.svg

    def save(self, path):
        """Writes the figure to a file: .svg, .pdf or .png."""
        run(*self._plot, "-o", path)
