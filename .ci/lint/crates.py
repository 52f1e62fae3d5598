"""Limits the number of crates that functions link, because each one can make them larger and slower to start.

Usage: crates.py
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUNCTIONS = sorted(manifest.parent.name for manifest in ROOT.glob("functions/*/Cargo.toml"))
# The measured numbers. Every function links the crates of `default`.
LIMITS = {"default": 204, "all functions": 298}


def linked(functions):
    """Returns the crates that functions link on either of their platforms, without the project's own packages."""
    command = ["cargo", "tree", "--locked", "--prefix=none", "--format={p}", "--edges=normal,no-proc-macro"]
    command += ["--target=aarch64-unknown-linux-gnu", "--target=x86_64-unknown-linux-gnu"]
    command += [f"--package={name}" for name in functions]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    crates = {line.removesuffix(" (*)") for line in output.splitlines() if line}
    # Cargo prints the folder of the project's own packages.
    return {crate for crate in crates if "(/" not in crate}


numbers = {"default": len(linked(["default"])), "all functions": len(linked(FUNCTIONS))}
print("; ".join(f"{name}: {number} linked crates, limit {LIMITS[name]}" for name, number in numbers.items()))
if any(number > LIMITS[name] for name, number in numbers.items()):
    sys.exit(
        "Functions link more crates than before. Can you do without the new ones? If not, run `.ci/run release`, which "
        "measures the size and the start of all functions. If they are within their limits, raise the number in "
        ".ci/lint/crates.py."
    )
