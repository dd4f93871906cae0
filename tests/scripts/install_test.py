# SPDX-License-Identifier: Apache-2.0
"""Tests that an installation works in any folder, and registers with the desktop.

install_test.py BUILD_FOLDER
"""
import configparser
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

BUILD = pathlib.Path(sys.argv.pop())


def run(*command, **more):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **more)


class Installation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        first = pathlib.Path(cls.folder.name) / "first"
        done = run("cmake", "--install", BUILD, "--prefix", first)
        assert done.returncode == 0, done.stderr
        cls.root = pathlib.Path(cls.folder.name) / "moved"
        first.rename(cls.root)  # nothing may depend on the configured prefix
        cls.program = cls.root / "bin" / "attnscope"
        cls.has_worker = (cls.root / "bin" / "attnscope-worker").exists()
        cls.has_window = (cls.root / "share/applications/attnscope.desktop").exists()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def need_window(self):
        if not self.has_window:
            self.skipTest("this build has no window")

    def test_the_program_runs_after_moving(self):
        version = run(self.program, "--version")
        self.assertEqual(version.returncode, 0, version.stderr)
        self.assertRegex(version.stdout, r"\d+\.\d+")

    def test_man_pages_and_completions_are_installed(self):
        self.assertIn(".TH ATTNSCOPE-SCORE 1", (self.root / "share/man/man1/attnscope-score.1").read_text())
        for file in ("bash-completion/completions/attnscope", "zsh/site-functions/_attnscope"):
            self.assertIn("--checkpoint", (self.root / "share" / file).read_text())

    def test_the_worker_has_its_libraries(self):
        if not self.has_worker:
            self.skipTest("this build has no worker")
        listed = run(self.program, "list", "implementations", "--json")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn('"segment"', listed.stdout)
        maps = run("ldd", self.root / "bin" / "attnscope-worker").stdout
        self.assertNotIn("not found", maps)
        torch = [line for line in maps.splitlines() if "libtorch_cpu" in line]
        bundled = (self.root / "lib/attnscope").exists() or list(self.root.glob("lib/*/attnscope"))
        if bundled:
            self.assertIn(str(self.root), torch[0])

    def test_the_published_runs_can_be_read(self):
        runs = sorted(self.root.glob("share/attnscope/results/*/run.attn.gz"))
        self.assertTrue(runs)
        for file in runs:
            listed = run(self.program, "list", "runs", "--db", file)
            self.assertEqual(listed.returncode, 0, f"{file}: {listed.stderr}")

    def test_the_desktop_entry_names_existing_files(self):
        self.need_window()
        entry = configparser.ConfigParser(interpolation=None)
        entry.optionxform = str
        entry.read(self.root / "share/applications/attnscope.desktop")
        fields = entry["Desktop Entry"]
        self.assertEqual(fields["Type"], "Application")
        self.assertTrue((self.root / "bin" / fields["Exec"].split()[0]).exists())
        icon = self.root / "share/icons/hicolor/scalable/apps" / (fields["Icon"] + ".svg")
        self.assertTrue(xml.etree.ElementTree.parse(icon).getroot().tag.endswith("svg"))

    def test_attn_files_have_the_type_that_the_entry_opens(self):
        self.need_window()
        kinds = self.root / "share/mime/packages/attnscope.xml"
        space = "{http://www.freedesktop.org/standards/shared-mime-info}"
        kind, packed = xml.etree.ElementTree.parse(kinds).getroot().findall(space + "mime-type")
        self.assertEqual(kind.find(space + "glob").get("pattern"), "*.attn")
        self.assertEqual(packed.find(space + "glob").get("pattern"), "*.attn.gz")
        entry = (self.root / "share/applications/attnscope.desktop").read_text()
        self.assertIn(f"MimeType={kind.get('type')};{packed.get('type')};", entry)
        # The magic number is that of the files.
        file = next(self.root.glob("share/attnscope/results/*/run.attn.gz"))
        number = kind.find(f"{space}magic/{space}match/{space}match")
        offset = int(number.get("offset"))
        self.assertEqual(int(number.get("value"), 16),
                         int.from_bytes(gzip.decompress(file.read_bytes())[offset:offset + 4], "big"))
        if shutil.which("update-mime-database"):
            made = run("update-mime-database", self.root / "share/mime")
            self.assertEqual(made.returncode, 0, made.stderr)
            globs = (self.root / "share/mime/globs").read_text().splitlines()
            self.assertTrue({f"{kind.get('type')}:*.attn", f"{packed.get('type')}:*.attn.gz"} <= set(globs))

    def test_the_window_opens(self):
        self.need_window()
        home = pathlib.Path(self.folder.name) / "home"
        home.mkdir()
        environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(home),
                       "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        window = subprocess.Popen([self.program], env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):  # until it has created its database
                if (home / "attnscope/attnscope.db").exists() or window.poll() is not None:
                    break
                try:
                    window.wait(0.1)
                except subprocess.TimeoutExpired:
                    pass
            self.assertIsNone(window.poll(), "the window closed by itself")
            self.assertTrue((home / "attnscope/attnscope.db").exists())
        finally:
            window.kill()
            window.wait()


if __name__ == "__main__":
    unittest.main()
