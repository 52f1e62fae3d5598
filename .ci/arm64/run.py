"""Runs functions that were built for aarch64 with their sample events, on an emulated processor.

Usage: run.py FOLDER ROLECALL PACKAGE..., with the folder in which cargo-lambda has put the functions, and the local
service's binary. It needs Debian's qemu-user-static and libc6-arm64-cross, whose glibc is that of Debian 12.
"""

import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runtime"))

import glibc  # noqa: E402
import main as runtime  # noqa: E402
import sam  # noqa: E402

# Where Debian has the libraries for aarch64.
LIBRARIES = "/usr/aarch64-linux-gnu"


def main(folder, rolecall, *packages):
    names = sorted(sam.binary(one) for one in sam.functions().get_all() if sam.package(one) in packages)
    binaries = {name: pathlib.Path(folder, name, "bootstrap").resolve() for name in names}
    for binary in binaries.values():
        header = subprocess.run(["readelf", "--file-header", binary], check=True, stdout=subprocess.PIPE, text=True).stdout
        assert "AArch64" in header, f"{binary} is not for aarch64"
    newest = glibc.check(binaries.values())
    for name, binary in binaries.items():
        print(f"{name}: {binary.stat().st_size / 1e6:.2f} MB")
    print(f"{len(binaries)} functions are for aarch64 and need glibc {newest} or older", flush=True)
    with tempfile.TemporaryDirectory() as emulated:
        for name, binary in binaries.items():
            script = pathlib.Path(emulated, name)
            script.write_text(f'#!/bin/sh\nexec qemu-aarch64-static -L {LIBRARIES} "{binary}"\n')
            script.chmod(0o755)
        runtime.main(emulated, rolecall, *packages)


if __name__ == "__main__":
    main(*sys.argv[1:])
