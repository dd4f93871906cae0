# SPDX-License-Identifier: Apache-2.0
"""The page of `attnscope report` in a real browser: its charts, texts and restrictions.

report_browser_test.py PROGRAM FAKE_WORKER [FOLDER]

Controls Chromium with its debugging protocol over a pipe. With FOLDER, screenshots are saved there.
"""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import unittest

HOME = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM, WORKER = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
PICTURES = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
del sys.argv[1:]
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE_S = 60
HOSTILE = "</script><img src=x onerror=\"document.title='taken'\"> & 'all'"
# Longer than any narrow page, without a line break opportunity.
LONG = "sparse-with-a-name-that-does-not-end-" * 4

SWEEP = {"name": "hostile </title>", "threads": 1, "sequence_tokens": [64, 128, 256],
         "contenders": ["full/dense", {"pattern": "sparse", "implementation": "segment", "name": HOSTILE},
                        {"pattern": "sparse", "implementation": "windowed", "name": LONG},
                        {"pattern": "full", "implementation": "refuse", "name": "Refuses"}],
         "windows": [4], "stop": {"min_samples": 3, "placements": 1, "processes": 1}}


def report(folder, name, *arguments, **more):
    page = folder / name
    done = subprocess.run([PROGRAM, "report", *map(str, arguments), "-o", page, "--db", folder / "runs.db"],
                          capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr
    return page


class Browser:
    """One page of a headless Chromium."""

    def __init__(self, folder):
        to_browser, ours = os.pipe()
        theirs, from_browser = os.pipe()
        # Away from file descriptors 3 and 4, which the browser uses.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in (to_browser, from_browser)]
        for end in (to_browser, from_browser):
            os.close(end)

        def connect():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={folder}/profile",
             "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for end in ends:
            os.close(end)
        self.write, self.read, self.held = ours, theirs, b""
        self.number, self.session, self.complaints = 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(PATIENCE_S)
        os.close(self.write)
        os.close(self.read)

    def message(self):
        while b"\0" not in self.held:
            if not select.select([self.read], [], [], PATIENCE_S)[0]:
                raise TimeoutError("the browser does not answer")
            some = os.read(self.read, 1 << 16)
            if not some:
                raise EOFError("the browser has exited; it cannot run with a limit of the address space (ulimit -v)")
            self.held += some
        text, _, self.held = self.held.partition(b"\0")
        event = json.loads(text)
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(parameters["exceptionDetails"])
        if event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
            self.complaints.append(parameters["args"])
        if event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"])
        return event

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, page, width=1200, dark=False, media="", scripts=True):
        self.complaints.clear()
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Page.navigate", url=page.as_uri())
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def run(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def picture(self, name):
        if PICTURES:
            shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            (PICTURES / name).write_bytes(base64.b64decode(shot))


DRAWN = """[...document.querySelectorAll('.chart')].map((chart) => {
  const plot = chart.querySelector('svg.plot');
  return {series: plot.querySelectorAll('g.series').length, points: plot.querySelectorAll('.point').length,
          rail: plot.querySelectorAll('.none').length, lines: plot.querySelectorAll('.line').length,
          legend: [...chart.querySelectorAll('.legend button')].map((node) => node.textContent),
          data: JSON.parse(chart.querySelector('script').textContent)};
})"""
# Elements that are wider than the page and not in a scrolling box.
TOO_WIDE = """[...document.querySelectorAll('body *')]
  .filter((node) => !node.closest('.scroll') || node.matches('.scroll'))
  .filter((node) => { const box = node.getBoundingClientRect(); return box.width > 0 && box.right > innerWidth + 0.5; })
  .map((node) => node.outerHTML.slice(0, 120))"""


BACKGROUND, WHITE = "getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)"


def click(text):
    """Clicks the first button with this text."""
    return (f"[...document.querySelectorAll('.chart button')].find((node) => node.textContent === {json.dumps(text)})"
            ".click()")


class ReportInABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        results = HOME / "results"
        cls.kernels = report(cls.folder, "kernels.html", f"{results}/paper-fig2a-attention/run.attn.gz:1")
        cls.models = report(cls.folder, "models.html", f"{results}/mixencoder/run.attn.gz:1",
                            f"{results}/paper-table3/run.attn.gz:1")
        (cls.folder / "sweep.json").write_text(json.dumps(SWEEP))
        for _ in range(2):
            measured = subprocess.run(
                [PROGRAM, "run", cls.folder / "sweep.json", "--quiet", "--db", cls.folder / "runs.db"],
                env={**os.environ, "ATTNSCOPE_WORKER": str(WORKER)}, capture_output=True, text=True)
            assert measured.returncode == 1, measured.stderr  # one contender is refused
        cls.history = report(cls.folder, "history.html", 1, 2)
        cls.browser = Browser(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.temporary.cleanup()

    def assert_drawn(self, drawn, view="Time"):
        setting = drawn["data"]["axes"][0]["settings"][0]
        chosen = next(each for each in setting["views"] if each["name"] == view)
        self.assertEqual(drawn["series"], len(chosen["series"]))
        self.assertEqual(drawn["points"], sum(len(series["points"]) for series in chosen["series"]))
        self.assertEqual(drawn["rail"], sum(len(series["rail"]) for series in chosen["series"]))
        self.assertEqual(drawn["legend"], [series["name"] for series in chosen["series"]])
        return chosen

    def test_charts_are_complete_at_every_width_and_theme(self):
        for page in (self.kernels, self.models, self.history):
            for width in (400, 1200):
                for dark in (False, True):
                    with self.subTest(page=page.name, width=width, dark=dark):
                        self.browser.open(page, width, dark)
                        charts = self.browser.run(DRAWN)
                        self.assertTrue(charts)
                        for chart in charts:
                            self.assertGreater(chart["points"], 0)
                            self.assert_drawn(chart)
                        self.assertEqual(self.browser.run(TOO_WIDE), [])
                        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), width)
                        self.assertEqual(self.browser.run(BACKGROUND) == WHITE, not dark)
                        self.assertEqual(self.browser.complaints, [])
                        self.browser.picture(f"{page.stem}-{width}-{'dark' if dark else 'light'}.png")

    def test_views_scales_and_contenders_can_be_chosen(self):
        self.browser.open(self.kernels)
        series = len(self.assert_drawn(self.browser.run(DRAWN)[0])["series"])
        self.browser.run(click("Memory"))
        self.assert_drawn(self.browser.run(DRAWN)[0], "Memory")
        self.assertIn("MB", self.browser.run("document.querySelector('.chart .caption').textContent"))
        ticks = "[...document.querySelectorAll('svg.plot text.label')].map((node) => node.textContent)"
        before = self.browser.run(ticks)
        self.browser.run(click("linear"))
        self.assertNotEqual(self.browser.run(ticks), before)
        self.browser.run("document.querySelector('.legend button').click()")
        self.assertEqual(self.browser.run(DRAWN)[0]["series"], series - 1)
        self.browser.run("document.querySelector('.legend button').click()")
        self.assertEqual(self.browser.run(DRAWN)[0]["series"], series)
        self.assertEqual(self.browser.complaints, [])

    def test_draws_the_chosen_setting(self):
        self.browser.open(self.models)
        data = self.browser.run(DRAWN)[0]["data"]
        select = "[...document.querySelectorAll('.chart select')].find((node) => node.dataset.key === 'setting')"
        self.browser.run(f"{{ const box = {select}; box.selectedIndex = 1; box.dispatchEvent(new Event('change')); }}")
        drawn = self.browser.run(DRAWN)[0]
        chosen = data["axes"][0]["settings"][1]["views"][0]
        self.assertEqual(drawn["points"], sum(len(series["points"]) for series in chosen["series"]))
        self.assertEqual(drawn["legend"], [series["name"] for series in chosen["series"]])

    def test_tooltips_have_the_values_of_the_table(self):
        self.browser.open(self.kernels)
        first = self.assert_drawn(self.browser.run(DRAWN)[0])["series"][0]
        place = self.browser.run("""(() => {
          document.querySelector('svg.plot').scrollIntoView({block: 'center'});
          const box = document.querySelector('svg.plot g.series .point').getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2]; })()""")
        self.assertTrue(self.browser.run("document.querySelector('.tip').hidden"))
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        tip = self.browser.run("[...document.querySelectorAll('.tip p')].map((node) => node.textContent)")
        self.browser.picture("pointing.png")
        self.assertEqual(tip[0], first["name"])
        self.assertIn(first["points"][0]["text"], tip)
        self.assertIn("95 %", first["points"][0]["text"])
        rows = self.browser.run("""[...document.querySelectorAll('tr')]
          .map((row) => [...row.cells].map((node) => node.textContent))""")
        cells = [row for row in rows if row[0] == first["name"]]
        self.assertIn(first["points"][0]["text"].split(" (")[0], [text for row in cells for text in row])
        self.browser.run("document.querySelector('svg.plot').focus()")
        for key in ("ArrowRight", "ArrowDown"):
            self.browser.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        self.assertNotEqual(self.browser.run("document.querySelector('.tip p').textContent"), first["name"])

    def test_untrusted_names_are_only_text(self):
        self.browser.open(self.history)
        self.assertEqual(self.browser.run("document.images.length"), 0)
        self.assertIn("2 runs", self.browser.run("document.title"))
        for chart in self.browser.run(DRAWN):
            self.assertTrue(any(name.startswith(HOSTILE) for name in chart["legend"]), chart["legend"])
        self.assertIn("hostile </title>", self.browser.run("document.querySelector('h2').textContent"))
        self.assertEqual(self.browser.run("document.querySelectorAll('script:not([type])').length"), 1)

    def test_runs_of_one_sweep_have_a_history(self):
        self.browser.open(self.history)
        drawn = self.browser.run(DRAWN)
        self.assertEqual(len(drawn), 3)
        self.assertEqual([name[0] for name in self.assert_drawn(drawn[0])["names"]], ["run 1", "run 2"])
        self.assertIn("no change is shown", self.browser.run("document.querySelector('.history .lead').textContent"))

    def test_without_scripts_a_note_refers_to_the_table(self):
        self.browser.open(self.kernels, scripts=False)
        self.assertGreater(self.browser.run("document.querySelector('noscript p').getBoundingClientRect().height"), 0)
        self.assertEqual(self.browser.run("getComputedStyle(document.querySelector('svg.plot')).display"), "none")
        self.assertGreater(self.browser.run("document.querySelectorAll('td.number').length"), 10)

    def test_prints_in_light_colors_without_controls(self):
        self.browser.open(self.kernels, width=700, dark=True, media="print")
        self.assertEqual(self.browser.run(BACKGROUND), WHITE)
        self.assertEqual(self.browser.run("getComputedStyle(document.querySelector('.controls')).display"), "none")
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 700)
        self.browser.picture("print.png")
        self.assertTrue(base64.b64decode(self.browser.call("Page.printToPDF")["data"]).startswith(b"%PDF"))

    def test_nothing_can_be_fetched(self):
        self.browser.open(self.kernels)
        self.assertEqual(self.browser.run("fetch('data:,x').then(() => 'fetched', () => 'refused')"), "refused")
        self.browser.run("document.body.setAttribute('onclick', \"document.title = 'taken'\"); document.body.click()")
        self.assertNotEqual(self.browser.run("document.title"), "taken")


if __name__ == "__main__":
    if not BROWSER:
        print("no chromium: apt-get install chromium, or scripts/setup --with-tests")
        sys.exit(77)
    unittest.main()
