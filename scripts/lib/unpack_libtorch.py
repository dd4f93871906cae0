"""Checks the hashes of cached wheels, then unpacks the parts of LibTorch that a C++ program needs.

usage: unpack_libtorch.py REQUIREMENTS CACHE TARGET STAMP
"""
import hashlib
import pathlib
import re
import shutil
import sys
import zipfile

LIBRARIES = {
    "torch/lib/libtorch_cpu.so",
    "torch/lib/libc10.so",
    "torch/lib/libgomp.so.1",
    "nvidia/cu13/lib/libcudart.so.13",
    "nvidia/cu13/lib/libcupti.so.13",
}


def wanted(name: str) -> bool:
    return name in LIBRARIES or name.startswith("torch/include/") or "LICENSE" in name or "NOTICE" in name


def sha256(path: pathlib.Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def main() -> None:
    requirements, cache, target, stamp = sys.argv[1:]
    target = pathlib.Path(target)
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    for expected in re.findall(r"sha256:([0-9a-f]{64})", pathlib.Path(requirements).read_text()):
        wheel = pathlib.Path(cache) / f"{expected}.whl"
        if sha256(wheel) != expected:
            wheel.unlink()
            sys.exit(f"{wheel} did not match its hash and was removed; run the command again")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(partial, [name for name in archive.namelist() if wanted(name)])
    shutil.rmtree(target, ignore_errors=True)
    partial.rename(target)
    (target / ".stamp").write_text(stamp)


main()
