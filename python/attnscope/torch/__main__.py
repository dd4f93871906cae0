# SPDX-License-Identifier: Apache-2.0
"""Builds the operator for the torch of this Python, in a checkout: python -m attnscope.torch [CMAKE OPTIONS]

Needs what scripts/setup installs (a C++20 compiler, CMake, Ninja, fmt, nlohmann-json, ...); with nvcc on PATH and a
torch with CUDA the operator also supports CUDA. Compiles the kernels once for each torch, which takes minutes.
"""
import pathlib
import subprocess
import sys

import torch

from attnscope.torch import _CHECKOUT


def main(options):
    if not (_CHECKOUT / "CMakePresets.json").exists():
        sys.exit(f"attnscope.torch: {_CHECKOUT} is not a checkout of AttnScope; run this in one, with its python/ on "
                 "PYTHONPATH")
    if not torch.compiled_with_cxx11_abi():
        sys.exit("attnscope.torch: this torch was compiled with the C++ ABI from before 2011, which the operator "
                 "cannot link to; install one of the wheels from PyTorch 2.7 on")
    version = torch.__version__.split("+")[0]
    folder = _CHECKOUT / "build" / f"torch-{version}"
    unpacked = _CHECKOUT / ".deps" / "debian" / "usr"
    prefix = [f"-DCMAKE_PREFIX_PATH={unpacked}"] if unpacked.exists() else []
    for command in (
            ["cmake", "-S", _CHECKOUT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DATTNSCOPE_GUI=OFF",
             "-DATTNSCOPE_TESTS=OFF", f"-DATTNSCOPE_TORCH_DIR={pathlib.Path(torch.__file__).parent}", *prefix,
             *options],
            ["cmake", "--build", folder, "--target", "attnscope_torch"]):
        try:
            done = subprocess.run(command).returncode
        except FileNotFoundError:
            sys.exit("attnscope.torch: cmake is not on PATH; scripts/setup installs it")
        if done != 0:
            sys.exit(f"attnscope.torch: {' '.join(map(str, command[:2]))} failed, see the lines above; scripts/setup "
                     "installs what a build needs")
    print(folder / f"attnscope_torch-{version}.so")


if __name__ == "__main__":
    main(sys.argv[1:])
