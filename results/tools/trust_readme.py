# SPDX-License-Identifier: Apache-2.0
"""Writes results/trust/README.md from the JSON files next to it, so that no number is typed."""
import json

from trust_busy import LOADS

HEAD = """# Whether the numbers can be trusted

Written by `results/tools/trust.py` on a quiet machine; the JSON files in this folder have all figures, verdict by
verdict. [docs/trust.md](../../docs/trust.md) lists what is promised and the tests that check it.
"""


def percent(value, digits=1):
    return f"{100 * value:.{digits}f} %"


def interval(pair):
    return f"{percent(pair[0])} to {percent(pair[1])}"


def machine_line(figures):
    machine = figures["machine"]
    modified = ", modified" if machine["dirty"] else ""
    return (f"{machine['device']}, {machine['cores']} cores, {machine['kernel']}; commit "
            f"{machine['commit'][:10]}{modified}, {machine['compiler']}, LibTorch {machine['libtorch']}\n")


def false_rows(title, counts):
    rows = [f"| {title} | {counts['verdicts']} | {counts['false']} | {percent(counts['share'])} "
            f"| {interval(counts['interval'])} |"]
    groups = sorted(counts["by"].items(), key=lambda entry: not entry[0].endswith(" tokens"))  # then contenders
    rows += [f"| &nbsp;&nbsp;{name} | {entry['verdicts']} | {entry['false']} | {percent(entry['share'])} "
             f"| {interval(entry['interval'])} |" for name, entry in groups]
    return rows


def same_against_same(figures):
    how = f"runs started by `{figures['launcher']}`" if figures["launcher"] else "headless"
    lines = [f"## One sweep against itself, {figures['repeats']} times ({how})", "", machine_line(figures),
             "Within a run a twin (the same code under another id) is compared with its original; between runs every "
             "cell is compared with itself in the previous repeat. At most 5 % of verdicts may be `faster` or `slower`. "
             "Verdicts of one run are not independent, so the intervals (Wilson, 95 %) are too narrow.", "",
             "| | verdicts | false | fraction | 95 % |", "| :-- | --: | --: | --: | --: |"]
    return lines + false_rows("**within a run**", figures["within"]) + false_rows("**between runs**",
                                                                              figures["between"])


def planted_slowdown(figures):
    lines = [f"## A slowdown of {percent(figures['planted'], 0)}, planted, {figures['repeats']} times", "",
             machine_line(figures),
             "`segment-slowed` runs `segment`, then waits for 3 % of its time; default settings.", "",
             "| tokens | found | 95 % | wrong direction | ratio, median (interval, medians of its ends) "
             "| intervals that contain 3 % |", "| --: | --: | --: | --: | --: | --: |"]
    for entry in figures["by_length"]:
        lines.append(f"| {entry['tokens']} | {entry['found']} of {entry['repeats']} | {interval(entry['interval'])} "
                     f"| {entry['wrong_way']} | {entry['median_ratio'] - 1:+.1%} ({entry['median_low'] - 1:+.1%} to "
                     f"{entry['median_high'] - 1:+.1%}) | {entry['holds_3_percent']} |")
    return lines


def busy(figures):
    stop = figures["sweep"]["stop"]["max_seconds"]
    lines = ["## Under load", "", machine_line(figures),
             f"Twins, and a copy of `segment` that takes exactly twice as long, at "
             f"{', '.join(map(str, figures['sweep']['sequence_tokens']))} tokens, {stop} s per cell. An interval that "
             "is wider than 10x is shown as \"interval too wide\". The last column counts the intervals that contain the median "
             "ratio of the quiet machine.", "",
             "| load | repeats | equal code: false verdicts | twice the time: found | ratio, median | widest interval "
             "| interval too wide | disturbed cells | contain the quiet ratio |",
             "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |"]
    for entry in figures["loads"].values():
        equal, planted, holds = entry["equal"], entry["planted"], entry["holds_quiet"]
        widest = "-" if entry["widest_known"] is None else f"{entry['widest_known']:.2f}x"
        lines.append(f"| {LOADS[entry['load']]} | {entry['repeats']} | {equal['false']} of {equal['verdicts']} "
                     f"({interval(equal['interval'])}) | {planted['found']} of {planted['cells']} "
                     f"({interval(planted['interval'])}) | {planted['median_ratio']:.2f}x | {widest} "
                     f"| {entry['interval_too_wide']} | {entry['disturbed']} of {len(entry['verdicts'])} "
                     f"| {holds['held']} of {holds['intervals']} |")
    return lines


def overhead(figures):
    lines = ["## The tool's own time", "", machine_line(figures),
             "Not timed are the first call of each contender in each process, which warms up, is metered and is checked "
             "(counted by the cell's median, without page faults), and the tool's own time.", "",
             "| sweep | cells | shortest call | total | timed | first calls | the tool's own |",
             "| :-- | --: | --: | --: | --: | --: | --: |"]
    for entry in figures["sweeps"].values():
        lines.append(f"| {entry['title']} | {len(entry['cells'])} | {entry['least_call_ms']:.0f} ms | {entry['wall_s']:.1f} s "
                     f"| {entry['timed_s']:.1f} s | {entry['first_calls_s']:.1f} s, "
                     f"{percent(entry['first_calls_s'] / entry['wall_s'])} | **{percent(entry['share_own'])}** |")
    for entry in figures["sweeps"].values():
        lines += ["", f"Where it went, {entry['title']}:", "", "| outside timed calls | s | of the sweep |",
                  "| :-- | --: | --: |"]
        lines += [f"| {name} | {seconds:.2f} | {percent(seconds / entry['wall_s'])} |"
                  for name, seconds in entry["outside_s"].items()]
    return lines


def crosscheck(figures):
    lines = ["## One call, three tools", "", machine_line(figures),
             f"`segment`, forward, sparse pattern, {figures['sweep']['sequence_tokens'][0]} tokens, window "
             f"{figures['sweep']['windows'][0]}, {figures['sweep']['batch']['max']} items, one thread; "
             f"{figures['rounds']} rounds of fresh processes in shuffled order; medians of their figures, which are "
             "medians, except for perf stat's, which is a mean over all calls.", "",
             "| tool | ms | AttnScope relative to it |", "| :-- | --: | --: |"]
    for name, value in figures["median_ms"].items():
        against = figures["against"].get(name)
        lines.append(f"| {name} | {value:.4f} | {'' if against is None else f'{against:+.2%}'} |")
    return lines


PARTS = {"overhead": overhead, "busy": busy, "slowdown": planted_slowdown, "crosscheck": crosscheck}


def write(folder):
    parts = [HEAD]
    files = sorted(folder.glob("*.json"), key=lambda file: (not file.stem.startswith("aa"), file.stem))
    for file in files:
        figures = json.loads(file.read_text())
        parts.append("\n".join(PARTS.get(figures["name"], same_against_same)(figures)) + "\n")
    (folder / "README.md").write_text("\n".join(parts))
