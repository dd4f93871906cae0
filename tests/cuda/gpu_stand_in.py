# SPDX-License-Identifier: Apache-2.0
"""Replaces each program that a call of scripts/dev/gpu_check runs, depending on the name with which it is started.

STAND_IN_STATE    a folder for the state between programs
STAND_IN_FAILS    programs whose command line matches this regular expression end with 1
STAND_IN_HANGS    programs whose command line matches this one never end, and have a child in another session; they write
                  their process ids to the file STAND_IN_HANGING (default: STATE/hangs)
STAND_IN_STATUS   the status of measured cells (default: ok)
STAND_IN_REFUSES  tools that are not permitted on this machine
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

name, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
words = " ".join([name, *arguments])
state = pathlib.Path(os.environ["STAND_IN_STATE"])


def chosen(variable):
    return variable in os.environ and re.search(os.environ[variable], words)


def option(key):
    return arguments[arguments.index(key) + 1] if key in arguments else None


def add_line(path, header, line):
    path = pathlib.Path(path)
    path.write_text((path.read_text() if path.exists() else f"{header}\n") + f"{line}\n")


with (state / "commands").open("a") as commands:
    commands.write(f"{words}\n")
if name in os.environ.get("STAND_IN_REFUSES", "").split():
    sys.exit(f"==ERROR== {name}: Device not supported")
if name == "kernels_bench":
    add_line(option("--csv"), "tokens,window,median_ms", "4096,4,0.5") if option("--csv") else None
elif name == "attnscope":
    runs = state / "runs"
    have = runs.read_text().splitlines() if runs.exists() else []
    if arguments[0] == "run" and not chosen("STAND_IN_FAILS"):
        runs.write_text("\n".join([*have, f"{arguments[1]} {option('--only').split(',')[0]}"]))
    elif arguments[0] == "table":
        print(f"run,status,reason\n{have[-1]},{os.environ.get('STAND_IN_STATUS', 'ok')},why")
    elif arguments[:2] == ["list", "runs"]:
        print(json.dumps([{"run": i + 1} for i in range(len(have))]))
    elif arguments[0] == "export":
        pathlib.Path(option("-o")).write_text(" ".join(arguments))

if chosen("STAND_IN_FAILS"):
    sys.exit(1)
if chosen("STAND_IN_HANGS"):
    if name == "attnscope":
        signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
    pathlib.Path(os.environ.get("STAND_IN_HANGING", state / "hangs")).write_text(f"{os.getpid()} {child.pid}")
    while True:
        signal.pause()

if name == "nvidia-smi":
    print("Stand-in GPU, 9.0, 580.1")
elif name == "ncu":
    print("gpu__time_duration.sum 1")
    if option("--log-file"):
        pathlib.Path(option("--log-file")).write_text(
            '==PROF== Connected\n"ID","Kernel Name","lts__t_bytes.sum"\n"","","byte"\n"0","segment_walk_kernel","1"\n')
elif name in ("cuda_kernels_test", "compute-sanitizer"):
    print("[       OK ] EverySubject/CudaKernels.AreRight (1 ms)\n========= ERROR SUMMARY: 0 errors")
elif name == "python3" and arguments[0] == "-c":
    print("/stand-in/torch")
elif name == "python3":
    print("tokens,window,contender\n4096,4,segment")
