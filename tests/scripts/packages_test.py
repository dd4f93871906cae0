# SPDX-License-Identifier: Apache-2.0
"""Tests scripts/lib/packages: the names of each release, and one sentence if there are none."""
import os
import pathlib
import subprocess
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent


def packages(release, *roles):
    return subprocess.run([HOME / "scripts/lib/packages", *roles], capture_output=True, text=True,
                          env=dict(os.environ, ATTNSCOPE_RELEASE=release))


class Packages(unittest.TestCase):
    def names(self, release, *roles):
        done = packages(release, *roles)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def test_releases_have_the_packages_of_a_build(self):
        debian_12 = self.names("debian-12", "build", "gui", "test", "runtime")
        debian_13 = self.names("debian-13", "build", "gui", "test", "runtime")
        self.assertLessEqual({"g++", "libqt6opengl6-dev", "libboost1.74-dev", "libicu72"}, set(debian_12))
        self.assertLessEqual({"g++", "libboost1.83-dev", "libicu76", "libfmt10"}, set(debian_13))
        self.assertEqual({"libqt6opengl6-dev", "libboost1.74-dev", "libicu72"} & set(debian_13), set())
        self.assertEqual({"-", "="} & {*debian_12, *debian_13}, set())

    def test_an_untried_release_is_marked(self):
        done = packages("ubuntu-24.04", "runtime")
        self.assertEqual(done.stdout.split(), ["libfmt9", "libsqlite3-0", "libicu74", "libonig5", "libminizip1t64", "googletest"])
        self.assertIn("ubuntu-24.04 is untested", done.stderr)

    def test_unknown_systems_get_one_sentence_with_the_roles(self):
        done = packages("fedora-42", "build", "gui")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(len(done.stderr.splitlines()), 1)
        for part in ("fedora-42 are not known", "for build: g++ cmake", "for gui: qt6-base-dev", "ATTNSCOPE_RELEASE=none"):
            self.assertIn(part, done.stderr)
        self.assertEqual(self.names("none", "build", "gui"), [])

    def test_missing_roles_are_refused(self):
        done = packages("debian-13", "build", "lint")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("debian-13 has no packages for the role 'lint'; run what needs them on Debian 12", done.stderr)
        done = packages("debian-12", "windw")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("there is no role 'windw'", done.stderr)


if __name__ == "__main__":
    unittest.main()
