"""Prints one line of totals for each suite, and their sum, from ctest's log (GoogleTest, QTest, plain programs). A suite
that skipped all of its tests counts as skipped; one that ran no test and gives no reason counts as failed."""
import re
import sys

text = open(sys.argv[1], encoding="utf-8", errors="replace").read()
totals = [0, 0, 0]
SUITE = r"^\d+/\d+ Test: (\S+)\n(.*?)^<end of output>.*?^Test (?!time)([^\n]+)\.$"
FRAMEWORK = r"^Running main\(\) from|^\[==========\]|^\*+ Start testing"
for name, body, end in re.findall(SUITE, text, re.M | re.S):
    passed = sum(map(int, re.findall(r"^\[  PASSED  \] (\d+) tests?\.", body, re.M)))
    failed = sum(map(int, re.findall(r"^ *(\d+) FAILED TESTS?$", body, re.M)))
    skipped = sum(map(int, re.findall(r"^\[  SKIPPED \] (\d+) tests?, listed below", body, re.M)))
    for good, bad, left_out in re.findall(r"^Totals: (\d+) passed, (\d+) failed, (\d+) skipped", body, re.M):
        passed, failed, skipped = passed + int(good), failed + int(bad), skipped + int(left_out)
    counts_itself = re.search(FRAMEWORK, body, re.M)
    if not counts_itself and end == "Passed":
        passed = 1  # a plain program, which reports only an exit status
    if end == "Skipped":
        skipped = max(1, skipped)
    if failed == 0 and (passed + skipped == 0 or end not in ("Passed", "Skipped")):
        failed = 1  # it ran nothing, crashed or hung, or a sanitizer reported at its end
    print(f"  {name}: {passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    totals = [total + more for total, more in zip(totals, (passed, failed, skipped))]
passed, failed, skipped = totals
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed or not passed else 0)
