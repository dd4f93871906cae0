"""Prints one line of totals per suite, and their sum, from ctest's log (GoogleTest, QTest, plain
programs)."""
import re
import sys

text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
total_passed = total_failed = 0
SUITE = r"^\d+/\d+ Test: (\S+)\n(.*?)^<end of output>.*?^Test (?!time)([^\n]+)\.$"
FRAMEWORK = r"^Running main\(\) from|^\[==========\]|^\*+ Start testing"
for name, body, end in re.findall(SUITE, text, re.M | re.S):
    passed = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) tests?\.", body, re.M)))
    failed = sum(map(int, re.findall(r"^ *(\d+) FAILED TESTS?$", body, re.M)))
    for good, bad in re.findall(r"^Totals: (\d+) passed, (\d+) failed", body, re.M):
        passed, failed = passed + int(good), failed + int(bad)
    counts_itself = re.search(FRAMEWORK, body, re.M)
    if not counts_itself and end == "Passed":
        passed = 1  # a plain program, which says all with its exit status
    if failed == 0 and (passed == 0 or end != "Passed"):
        failed = 1  # it ran nothing, crashed, hung, or a sanitizer spoke at its end
    print(f"  {name}: {passed} passed, {failed} failed")
    total_passed, total_failed = total_passed + passed, total_failed + failed
print(f"{total_passed} passed, {total_failed} failed")
sys.exit(1 if total_failed or not total_passed else 0)
