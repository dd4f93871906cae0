# SPDX-License-Identifier: Apache-2.0
"""Tests that every relative link of a Markdown file leads to a file and a heading of it, and that every script that a
file names exists."""
import pathlib
import re
import subprocess
import unittest

HOME = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = re.compile(r"(?<![\w/{}$-])(?:\./)?((?:scripts|results/tools)/[\w./-]*\w)")


def tracked_files():
    """Every tracked text file outside the fixtures of tests, with its text; without git every such file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=HOME, capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [
        str(path.relative_to(HOME)) for path in HOME.rglob("*") if not {"build", ".deps", ".git"} & set(path.parts)]
    for name in names:
        path = HOME / name
        if path.is_file() and not re.search(r"^tests/(fuzz/corpus|.*golden/.*/)", name):
            try:
                yield path, path.read_text()
            except UnicodeDecodeError:
                pass


def anchors(text):
    """The anchors of a Markdown text's headings, as GitHub creates them."""
    headings = re.findall(r"^#+ +(.*?) *$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading)).lower().replace(" ", "-")
            for heading in headings}


class Links(unittest.TestCase):
    def test_relative_links_lead_to_a_file_and_to_a_heading(self):
        broken = []
        for path, text in tracked_files():
            if path.suffix == ".md":
                for target in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", text):
                    file, _, anchor = target.partition("#")
                    other = (path.parent / file).resolve() if file else path
                    if not other.exists() or anchor and anchor not in anchors(other.read_text()):
                        broken.append(f"{path.relative_to(HOME)}: {target}")
        self.assertEqual(broken, [])

    def test_named_scripts_exist(self):
        missing = [f"{path.relative_to(HOME)}: {name}" for path, text in tracked_files()
                   for name in SCRIPT.findall(text) if not (HOME / name).exists()]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    unittest.main()
