"""The licenses of what the binaries and the image contain. Most of them must accompany every copy."""

import collections
import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LICENSE = re.compile(r"(un)?licen[cs]e|copying|copyright|notice", re.IGNORECASE)
# What the image contains of Debian, and the licenses that Debian's files or a crate only name.
DEBIAN = ["ca-certificates", "libc6", "libgcc-s1"]
NAMED = ["GPL-3", "LGPL-2.1", "MPL-2.0"]


def text(packages):
    """The licenses of the crates that these packages link, each text once, and of Debian's packages."""
    names = collections.defaultdict(list)
    for crate in crates(packages):
        name = f"{crate['name']} {crate['version']} ({crate['license']}, {crate['repository']})"
        folder = pathlib.Path(crate["manifest_path"]).parent
        files = [path for path in sorted(folder.iterdir()) if path.is_file() and LICENSE.match(path.name)]
        for content in [path.read_text(errors="replace") for path in files] or ["The crate has no file with its license.\n"]:
            names[content].append(name)
    for package in DEBIAN:
        names[pathlib.Path(f"/usr/share/doc/{package}/copyright").read_text()].append(f"{package}, in the image")
    for license in NAMED:
        names[pathlib.Path(f"/usr/share/common-licenses/{license}").read_text()].append(license)
    own = f"Rolecall\n\n{(ROOT / 'LICENSE').read_text()}"
    return f"\n{'=' * 80}\n".join([own, *("\n".join(sorted(using)) + f"\n\n{content}" for content, using in names.items())])


def crates(packages):
    """The crates of others that these packages link on this platform."""
    options = [option for package in packages for option in ("--package", package)]
    tree = cargo("tree", *options, "--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}")
    linked = {tuple(line.replace(" v", " ").split()[:2]) for line in tree.splitlines()}
    platform = re.search(r"host: (\S+)", cargo("--version", "--verbose"))[1]
    metadata = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", platform))
    found = [one for one in metadata["packages"] if one["source"] and (one["name"], one["version"]) in linked]
    assert len(found) > 100, f"the packages link only {len(found)} crates of others"
    return found


def cargo(*words):
    options = ["--locked", "--offline"] if "--version" not in words else []
    return subprocess.run(["cargo", *words, *options], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
