#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the Python package can be built, installed and imported with only Python.

package_test.py BUILD_FOLDER
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
if len(sys.argv) > 1:
    sys.argv.pop()


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(cls.folder.name)
        # setuptools writes next to the sources.
        shutil.copytree(SOURCE / "python", root / "python", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        run(sys.executable, "-m", "pip", "wheel", "--no-index", "--no-build-isolation", "--no-deps", "-w", root, root / "python")
        (cls.wheel,) = root.glob("*.whl")
        run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", root / "venv")
        cls.python = root / "venv" / "bin" / "python3"
        run(sys.executable, "-m", "pip", "--python", cls.python, "install", "--no-index", "--no-deps", cls.wheel)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def in_venv(self, *lines):
        return run(self.python, "-c", "\n".join(lines), cwd=self.folder.name)

    def test_the_wheel_is_universal_and_has_the_version_of_the_program(self):
        version = re.search(r"project\(AttnScope VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text()).group(1)
        self.assertEqual(self.wheel.name, f"attnscope-{version}-py3-none-any.whl")
        self.assertEqual(self.in_venv("import attnscope", "print(attnscope.__version__)").strip(), version)

    def test_importing_loads_only_the_standard_library(self):
        loaded = self.in_venv("import sys", "before = set(sys.modules)", "import attnscope",
                              "new = {name.partition('.')[0] for name in set(sys.modules) - before}",
                              "print(*sorted(new - set(sys.stdlib_module_names)))").split()
        self.assertEqual(loaded, ["attnscope"])

    def test_names_are_imported_on_first_use(self):
        self.assertEqual(self.in_venv("from attnscope import open, Store, StoreError, AttnScopeError, ProgramError, Figure",
                                      "print(issubclass(StoreError, AttnScopeError), open.__module__)").split(),
                         ["True", "attnscope._store"])
        self.assertIn("has no attribute 'nonsense'", self.in_venv(
            "import attnscope", "try:", "    attnscope.nonsense", "except AttributeError as error:", "    print(error)"))


if __name__ == "__main__":
    unittest.main()
