# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions on the hot path of the walks' kernels (kernels/cuda/segment), and computes the time bound.

A kernel's machine code is divided into basic blocks. Blocks that are always executed together are counted as often as
the part of the source from which most of their instructions come. The parts are functions of the kernels, listed here by
name; how often warps execute them is computed from the real work lists (scripts/dev/compiler/walk_counts.cpp). Rare
code (numbers that are not finite, new maxima, reconvergence of lanes) counts as never executed, as do the small
launches that merge parts. For a branch that is not a part, both sides are counted, so the beginning and the end of a
walk are counted somewhat too high.
"""
import collections
import dataclasses
import functools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

HOME = pathlib.Path(__file__).resolve().parents[2]
SEGMENT = HOME / "kernels/cuda/segment"
NVDISASM = HOME / ".deps/nvdisasm/nvdisasm"

# An H200: its multiprocessors, the 4 schedulers of each, which issue one warp instruction per cycle, and the clock under
# load that the first run measured (results/kernels-h200). ISSUED is the fraction of the cycles in which kernels of that
# run issued: broad windows, and the backward pass of w = 4. COPY_BYTES is the rate of a copy per second, reads and
# writes. EXPONENTIALS, which includes other operations of the same unit, is per cycle and multiprocessor: CUDA C++
# Programming Guide, "Throughput of Native Arithmetic Instructions", compute capability 9.0.
PROCESSORS, SCHEDULERS, HERTZ = 132, 4, 1.98e9
ISSUED, ISSUED_BACKWARD_NARROW, WIDEST_NARROW = 0.46, 0.27, 16
COPY_BYTES = 4.3e12
EXPONENTIALS = 16

# The cases (walk_counts.cpp): documents, heads, bytes of a head's row.
DOCUMENTS, HEADS, ROW_BYTES = 100, 12, 64

# Targets: instructions per strip by window; fraction of the copy rate by (tokens, window), forward; registers at w = 4;
# time of backward over forward. TOLERANCE: a number that is worse by more than this factor is a regression.
MOST_INSTRUCTIONS = {4: 450, 64: 900}
LEAST_OF_COPY = {(4096, 4): 0.70, (4096, 64): 0.45, (174, 4): 0.50}
MOST_REGISTERS = {4: 128}
MOST_OF_FORWARD = 3.0
TOLERANCE = 1.10


# The parts of each kernel, outer loops first: the name in walk_counts.cpp, and the file and name of the function, lambda
# or struct that is this part. The whole kernel is "walk". A part that is not the body of a loop is executed at most as
# often as the loop around it.
LOOPS = ("strip", "step", "globals", "band", "stretch", "whole")
RARE = [("never", "walk.cuh", "clear_non_finite"), ("never", "walk.cuh", "raise"), ("never", "walk.cuh", "with_nan"),
        ("never", "walk.cuh", "spoil")]
WIDE = [("wide", "walk.cuh", "WideRows"), ("leave", "walk.cuh", "leave"), ("finish", "walk.cuh", "finish")]
BAND = [("edge", "walk.cuh", "cut_edge"), ("cut", "band.cuh", "cut_ends"), ("next", "band.cuh", "read_next"),
        ("outside", "band.cuh", "read_nearest"),
        ("never", "band.cuh", "clean_chunk")]
PARTS = {
    "segment_walk_kernel": [
        ("strip", "walk.cuh", "take_strip"),
        *WIDE,
        ("first", "walk.cuh", "take_globals"),
        ("edge", "walk.cuh", "edge_sight"),
        ("cut", "walk.cuh", "cut_sight"),
        *RARE],
    "segment_broad_walk_kernel": [
        ("step", "broad_walk.cuh", "take_step"),
        ("globals", "broad_walk.cuh", "take_globals"),
        ("band", "broad_walk.cuh", "take_chunks"),
        ("stretch", "broad_walk.cuh", "take_stretch"),
        ("whole", "broad_walk.cuh", "take_whole"),
        ("rim", "broad_walk.cuh", "take_rim"),
        ("seen", "broad_walk.cuh", "take_seen"),
        *BAND,
        ("alone", "broad_walk.cuh", "set_maxima"),
        ("wide", "broad_walk.cuh", "add_to_wide"),
        *WIDE,
        ("never", "broad_walk.cuh", "correct"),
        *RARE],
    "segment_backward_walk_kernel": [
        ("step", "walk_backward.cuh", "take_step"),
        ("band", "walk_backward.cuh", "take_chunk"),
        ("inner", "walk_backward.cuh", "take_inner"),
        ("rim", "walk_backward.cuh", "take_rim"),
        ("seen", "walk_backward.cuh", "take_seen"),
        *BAND,
        ("wide", "walk_backward.cuh", "add_to_wide"),
        ("wide cut", "walk_backward.cuh", "cut_by_rows"),
        ("first", "walk_backward.cuh", "add_globals_to_wide"),
        ("leave", "walk_backward.cuh", "leave"),
        ("finish", "walk_backward.cuh", "finish_wide"),
        ("never", "walk_backward.cuh", "weigh_carefully"),
        *RARE],
}


@dataclasses.dataclass
class Block:
    """Instructions without a label or branch between them, each with its source lines, the inlined one first."""
    labels: list
    instructions: list = dataclasses.field(default_factory=list)
    lines: list = dataclasses.field(default_factory=list)


def read_kernels(text):
    """Blocks by mangled name, from `nvdisasm -c -gi`."""
    kernels, blocks, inlined, lines = {}, None, [], ()
    for line in text.splitlines():
        if found := re.match(r"\.text\.(\S+):$", line):
            blocks = kernels[found[1]] = [Block([])]
        elif blocks is None:
            continue
        elif found := re.match(r"(\S+):$", line):
            if blocks[-1].instructions:
                blocks.append(Block([]))
            blocks[-1].labels.append(found[1])
        elif found := re.search(r'//## File "(?:[^"]*/)?([^"/]+)", line (\d+)( inlined at)?', line):
            inlined.append((found[1], int(found[2])))
            if not found[3]:
                lines, inlined = tuple(inlined), []
        elif found := re.match(r"\s+/\*[0-9a-f]+\*/\s+(.*?) ;", line):
            blocks[-1].instructions.append(found[1])
            blocks[-1].lines.append(lines)
            if ends_block(found[1]):
                blocks.append(Block([]))
    return {name: [block for block in blocks if block.instructions] for name, blocks in kernels.items()}


def ends_block(instruction):
    return re.match(r"(@!?U?P\d )?(BRA|EXIT|RET)\b", instruction.strip()) is not None


def ways_on(blocks):
    """For each block the numbers of the next blocks of a converged warp, and None if it ends. Functions that a kernel
    calls (the slow path of a division) are not followed."""
    at = {label: i for i, block in enumerate(blocks) for label in block.labels}
    ways = []
    for i, block in enumerate(blocks):
        branch, last = re.match(r"(@!?U?P\d )?(BRA\b|EXIT|RET)?", block.instructions[-1]), block.instructions[-1]
        ways.append([])
        if branch[2] == "BRA" and not last.startswith("BRA.DIV"):
            ways[i].append(at[re.search(r"`\((\S+)\)", last)[1]])
        elif branch[2] in ("EXIT", "RET"):
            ways[i].append(None)
        is_conditional = branch[1] or last.startswith("BRA.DIV") or re.match(r"BRA\S* !?U?P\d", last)
        if not branch[2] or is_conditional:
            ways[i].append(i + 1)
    return ways


def passed(ways, roots):
    """For each block that is reached from the roots: the blocks on every path to it, as bits."""
    bits = {root: 1 << root for root in roots}
    left = list(roots)
    while left:
        i = left.pop()
        for j in ways[i]:
            common = (bits[i] & bits.get(j, -1)) | 1 << j
            if j not in roots and common != bits.get(j):
                bits[j] = common
                left.append(j)
    return bits


def executed_together(blocks):
    """Groups of reached blocks that are always executed together, each with its depth of nested loops."""
    ways = ways_on(blocks)
    before = passed([[j for j in of if j is not None] for of in ways], {0})
    back = [[] for _ in blocks]
    for i in before:
        for j in ways[i]:
            if j is not None:
                back[j].append(i)
    after = passed(back, {i for i in before if None in ways[i]})
    loops = collections.defaultdict(set)
    for i in before:
        for j in ways[i]:
            if j is not None and before[i] >> j & 1:
                loops[j] |= loop_of(back, i, j)
    groups = []
    for i in sorted(before):
        around = [i in loop for loop in loops.values()]
        group = next((group for group, same in groups if same == around and before[i] >> group[0] & 1
                      and after.get(group[0], 0) >> i & 1), None)
        if group is None:
            groups.append(([i], around))
        else:
            group.append(i)
    return [([blocks[i] for i in group], sum(around)) for group, around in groups]


def loop_of(back, end, begin):
    """The blocks of the loop from `begin` to `end`, which branches back to `begin`."""
    found, left = {begin}, [end]
    while left:
        i = left.pop()
        if i not in found:
            found.add(i)
            left += back[i]
    return found


def end_of(text, begin):
    """The index of the bracket that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(text)):
        depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(text[i], 0)
        if depth == 0:
            return i


@functools.cache
def lines_of(file, name):
    """First and last line of the function, lambda or struct with a name, which must be defined once in the file."""
    text = re.sub(r"//.*", "", (SEGMENT / file).read_text())
    found = []
    for place in re.finditer(rf"\b{name}\b( = \[&\])?(?=[ (])", text):
        # A definition has a body after its name and arguments, a call has not.
        after = end_of(text, place.end()) + 1 if text[place.end()] == "(" else place.end()
        if body := re.compile(r"( const)? \{").match(text, after):
            found.append((text.count("\n", 0, place.start()) + 1,
                          text.count("\n", 0, end_of(text, body.end() - 1)) + 1))
    if len(found) != 1:
        raise ValueError(f"{file} defines '{name}' {len(found)} times; scripts/dev/hot_path.py finds the parts of the "
                         "kernels by their names: change it there too")
    return found[0]


def executions(lines, depth, parts, counts):
    """How often all warps of a launch execute an instruction. `depth`, its loops in the machine code, is less than
    in the source if the compiler moved it out of a loop."""
    def has(file, name):
        first, last = lines_of(file, name)
        return any(of == file and first <= line <= last for of, line in lines)

    within = [part for part, file, name in parts if has(file, name)]
    if "never" in within:
        return 0
    loop = ["walk", *(part for part in within if part in LOOPS)][:depth + 1][-1]
    times = counts[loop]
    for part in within:
        times = min(times, counts.get(f"{loop}, {part}", times if part in LOOPS else counts.get(part, times)))
    return times


@dataclasses.dataclass
class Issued:
    """Numbers over all warps of a launch."""
    instructions: float = 0
    exponentials: float = 0  # and reciprocals, logarithms
    products: float = 0      # on the tensor cores


def issued(blocks, parts, counts):
    total = Issued()
    for group, depth in executed_together(blocks):
        votes = collections.Counter(executions(lines, depth, parts, counts)
                                    for block in group for lines in block.lines)
        times = votes.most_common(1)[0][0]
        operations = [re.sub(r"^@!?U?P\w+ ", "", instruction) for block in group for instruction in block.instructions]
        total.instructions += times * len(operations)
        total.exponentials += times * sum(operation.startswith("MUFU") for operation in operations)
        total.products += times * sum(operation.startswith("HMMA") for operation in operations)
    return total


def read_counts(text):
    """{(tokens, window): {direction: {kernel: {part: executions}}}}."""
    cases = {}
    for line in text.splitlines():
        tokens, window, direction, kernel, part, count = line.split("\t")
        launches = cases.setdefault((int(tokens), int(window)), {}).setdefault(direction, {})
        launches.setdefault(kernel, {})[part] = int(count)
    return cases


def moved_bytes(tokens, direction):
    """(bytes that the launches read and write, bytes that must be read and written) of rows and log-sum-exps, each read
    once per launch. Backward has two launches: q, k, v, o, grad_o, lse -> grad_q, lse and D; q, k, v, grad_o, lse and
    D -> grad_k, grad_v."""
    rows = DOCUMENTS * tokens * HEADS
    if direction == "forward":
        return rows * (4 * ROW_BYTES + 4), rows * 4 * ROW_BYTES
    return rows * (12 * ROW_BYTES + 4 + 8 + 8), rows * 8 * ROW_BYTES


@dataclasses.dataclass
class Bound:
    """Milliseconds on an H200."""
    issue: float
    memory: float
    exponentials: float
    least: float  # a copy of what must be read and written

    @property
    def time(self):
        return max(self.issue, self.memory, self.exponentials)

    @property
    def name(self):
        return max(("issue", "memory", "exponentials"), key=lambda name: getattr(self, name))

    @property
    def of_copy(self):
        return self.least / self.time


def issue_ms(instructions, window, direction):
    """Milliseconds in which an H200 issues the instructions."""
    narrow = window <= WIDEST_NARROW and direction == "backward"
    share = ISSUED_BACKWARD_NARROW if narrow else ISSUED
    return 1e3 * instructions / (PROCESSORS * SCHEDULERS * HERTZ * share)


def bound(launches, case, direction):
    """The bound of launches one after the other."""
    tokens, window = case
    moved, least = moved_bytes(tokens, direction)
    return Bound(
        issue=issue_ms(sum(launch.instructions for launch in launches), window, direction),
        memory=1e3 * moved / COPY_BYTES,
        exponentials=1e3 * sum(32 * launch.exponentials for launch in launches) / (PROCESSORS * EXPONENTIALS * HERTZ),
        least=1e3 * least / COPY_BYTES)


def find_nvdisasm():
    return shutil.which("nvdisasm") or (str(NVDISASM) if NVDISASM.exists() else None)


def fetch_nvdisasm():
    """Finds nvdisasm, or downloads it into .deps/nvdisasm; None if that fails."""
    if find_nvdisasm():
        return find_nvdisasm()
    with tempfile.TemporaryDirectory() as folder:
        fetched = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:",
             "--require-hashes", "--platform", "manylinux_2_17_x86_64", "--platform", "manylinux2014_x86_64",
             "--dest", folder, "-r", HOME / "scripts/dev/nvdisasm.txt"], capture_output=True, text=True)
        if fetched.returncode != 0:
            return None
        NVDISASM.parent.mkdir(parents=True, exist_ok=True)
        for wheel in pathlib.Path(folder).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for name in archive.namelist():
                    if name.endswith(("/nvdisasm", "/License.txt")):
                        (NVDISASM.parent / name.split("/")[-1]).write_bytes(archive.read(name))
    NVDISASM.chmod(0o755)
    return str(NVDISASM)


def compile_kernels(folder, includes=()):
    """Compiles what the cases launch, for sm_90; returns the cubin and the compiler's log."""
    instantiation = (SEGMENT / "instantiation.cu.in").read_text()
    source, cubin = folder / "bfloat16_32.cu", folder / "bfloat16_32.cubin"
    source.write_text(instantiation.replace("@type@", "bfloat16").replace("@columns@", "32"))
    done = subprocess.run(["nvcc", "-std=c++20", "-O3", "-arch=sm_90", "-lineinfo", "--resource-usage", "-I", HOME,
                           *includes, "-cubin", source, "-o", cubin], capture_output=True, text=True)
    log = done.stdout + done.stderr
    if done.returncode != 0:
        sys.exit(f"hot_path: nvcc could not compile {source.name}:\n{log[-2000:]}")
    return cubin, log


def walk_counts(includes=()):
    """Compiles walk_counts.cpp with the sources that cut the work lists, and reads what it prints."""
    work = HOME / "kernels/cuda/work"
    sources = [HOME / "scripts/dev/compiler/walk_counts.cpp", *sorted(work.glob("*.cpp")),
               HOME / "kernels/cuda/operands.cpp", HOME / "kernels/plan/key_runs.cpp", HOME / "kernels/plan/counts.cpp"]
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "walk_counts"
        subprocess.run([shutil.which("g++") or "c++", "-std=c++20", "-w", "-DFMT_HEADER_ONLY", "-I", HOME, *includes,
                        *sources, "-o", program], check=True)
        return read_counts(subprocess.run([program], capture_output=True, text=True, check=True).stdout)


def measure(cubin, cases, demangle):
    """{case: {direction: {kernel: Issued}}}."""
    text = subprocess.run([find_nvdisasm(), "-c", "-gi", cubin], capture_output=True, text=True, check=True).stdout
    found = read_kernels(text)
    names = demangle(list(found))
    blocks = {names[name]: of for name, of in found.items()}
    return {case: {direction: {kernel: issued(blocks[kernel], PARTS[kernel.split("<")[0]], counts)
                               for kernel, counts in launches.items()}
                   for direction, launches in directions.items()}
            for case, directions in cases.items()}


def strips_of(directions):
    """Strips of 16 rows that the forward kernel computes in all heads of a case."""
    return next(iter(directions["forward"].values()))["strip"]


def name_of(case):
    return f"{DOCUMENTS} x {case[0]}, w = {case[1]}"


def with_target(text, target):
    return f"{text} ({target})" if target else text


def launch_rows(measured, cases, resources):
    """A row for each launch of each case. resources: by kernel (registers, spilled bytes, shared bytes, blocks and
    warps on a multiprocessor). Waves: the launch's warps over those that fit on the machine."""
    header = ["case", "direction", "kernel", "registers", "spilled bytes", "shared bytes", "blocks per SM",
              "warps per SM", "waves", "instructions per strip", "tensor-core products", "exponentials and similar"]
    rows = []
    for case, directions in measured.items():
        strips = strips_of(cases[case])
        for direction, launches in directions.items():
            for kernel, launch in launches.items():
                registers, *others, warps = resources[kernel]
                waves = cases[case][direction][kernel]["walk"] / (PROCESSORS * warps)
                forward = direction == "forward"
                most = MOST_REGISTERS.get(case[1]) if forward else None
                most_instructions = MOST_INSTRUCTIONS.get(case[1]) if forward else None
                rows.append([name_of(case), direction, kernel, with_target(str(registers), most and f"<= {most}"),
                             *(str(value) for value in [*others, warps]), f"{waves:.2f}",
                             with_target(f"{launch.instructions / strips:.0f}",
                                    most_instructions and f"<= {most_instructions}"),
                             f"{launch.products / strips:.1f}", f"{launch.exponentials / strips:.1f}"])
    return header, rows


def bound_rows(measured, cases):
    """A row for each direction of each case."""
    header = ["case", "direction", "instructions per strip", "million instructions", "GB moved", "ms by issue",
              "by memory", "by exponentials", "bound by", "fraction of copy", "backward over forward"]
    rows = []
    for case, directions in measured.items():
        forward = None
        for direction, launches in directions.items():
            of = bound(launches.values(), case, direction)
            forward = forward or of
            instructions = sum(launch.instructions for launch in launches.values())
            least = LEAST_OF_COPY.get(case) if direction == "forward" else None
            rows.append([name_of(case), direction, f"{instructions / strips_of(cases[case]):.0f}",
                         f"{instructions / 1e6:.1f}", f"{moved_bytes(case[0], direction)[0] / 1e9:.3f}",
                         f"{of.issue:.4f}", f"{of.memory:.4f}", f"{of.exponentials:.4f}", of.name,
                         with_target(f"{100 * of.of_copy:.0f} %", least and f">= {100 * least:.0f} %"),
                         "" if of is forward else f"{of.time / forward.time:.1f} (<= {MOST_OF_FORWARD:.0f})"])
    return header, rows


def record(measured, cases, resources):
    """The numbers to compare with later, by case and kernel."""
    kept = {}
    for case, directions in measured.items():
        for launches in directions.values():
            for kernel, launch in launches.items():
                registers, spilled, shared, blocks, _ = resources[kernel]
                kept.setdefault(name_of(case), {})[kernel] = {
                    "instructions a strip": round(launch.instructions / strips_of(cases[case]), 1),
                    "exponentials a strip": round(launch.exponentials / strips_of(cases[case]), 2),
                    "registers": registers, "spilled bytes": spilled, "shared bytes": shared, "blocks an SM": blocks}
    return kept


def as_json(recorded):
    """One line for each kernel."""
    kernel = r"\{\s+([^{}]*\S)\s+\}"
    lines = re.sub(kernel, lambda found: "{" + re.sub(r"\s+", " ", found[1]) + "}", json.dumps(recorded, indent=1))
    return lines + "\n"


def regressions(recorded, found):
    """A sentence for each number that is more than 10 % worse than the recorded one."""
    worse = []
    for case, kernels in recorded.items():
        for kernel, numbers in kernels.items():
            now = found.get(case, {}).get(kernel)
            if now is None:
                worse.append(f"{case}: {kernel} is no longer launched; record the new kernels")
                continue
            for name, before in numbers.items():
                grew = now[name] < before / TOLERANCE if name == "blocks an SM" else now[name] > before * TOLERANCE
                if grew:
                    worse.append(f"{case}: {kernel} has {now[name]} {name}, recorded are {before}")
    return worse
