"""Checks that binaries run on Amazon Linux 2023: that they need no glibc newer than 2.34.

Usage: glibc.py BINARY...
"""

import re
import subprocess
import sys

# Of Amazon Linux 2023.
NEWEST = (2, 34)


def needed(binary):
    """The newest version of glibc that a binary needs, by the version needs in its ELF file."""
    command = ["readelf", "--version-info", "--wide", str(binary)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([\d.]+)", output)]
    assert versions, f"{binary} does not say which glibc it needs"
    return max(versions)


def check(binaries):
    """Checks the binaries, and returns the newest version that any of them needs."""
    newest = {str(binary): needed(binary) for binary in binaries}
    text = {binary: ".".join(map(str, version)) for binary, version in newest.items()}
    late = [f"{binary} needs glibc {text[binary]}" for binary, version in newest.items() if version > NEWEST]
    assert not late, f"Amazon Linux 2023 has glibc {'.'.join(map(str, NEWEST))}: {late}"
    return ".".join(map(str, max(newest.values())))


if __name__ == "__main__":
    print(f"{len(sys.argv) - 1} binaries need glibc {check(sys.argv[1:])} or older")
