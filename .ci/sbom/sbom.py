"""Writes the software bill of materials of the functions: CycloneDX 1.6, as JSON.

Usage: sbom.py FILE

It lists every crate that a deployed function can link, with its version, license, checksum and dependencies. The file is
validated against the schema of CycloneDX before it is written.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

ROOT = Path(__file__).resolve().parents[2]
# The functions run on these.
PLATFORMS = ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"]


def cargo_metadata():
    filters = [argument for platform in PLATFORMS for argument in ("--filter-platform", platform)]
    command = ["cargo", "metadata", "--locked", "--format-version", "1", *filters]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def linked(metadata):
    """Returns the dependencies of each package that a function links, by package id."""
    functions = {
        found["id"]
        for found in metadata["packages"]
        if Path(found["manifest_path"]).parent.parent == ROOT / "functions"
    }
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    dependencies, left = {}, list(functions)
    while left:
        package = left.pop()
        if package not in dependencies:
            normal = [d["pkg"] for d in nodes[package]["deps"] if any(k["kind"] is None for k in d["dep_kinds"])]
            dependencies[package] = normal
            left.extend(normal)
    return functions, dependencies


def main(path):
    metadata = cargo_metadata()
    functions, dependencies = linked(metadata)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(found["name"], found["version"]): found.get("checksum") for found in lock["package"]}
    licenses, components = LicenseFactory(), {}
    for package in metadata["packages"]:
        if package["id"] not in dependencies:
            continue
        name, version = package["name"], package["version"]
        checksum = checksums.get((name, version))
        is_function = package["id"] in functions
        components[package["id"]] = Component(
            type=ComponentType.APPLICATION if is_function else ComponentType.LIBRARY,
            name=name,
            version=version,
            bom_ref=f"{name}@{version}",
            # Crates of this project are not in the registry.
            purl=PackageURL("cargo", None, name, version) if package["source"] else None,
            licenses=[licenses.make_from_string(package["license"].replace("/", " OR "))] if package["license"] else [],
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=checksum)] if checksum else [],
        )
    bom = Bom(components=components.values())
    bom.metadata.component = Component(type=ComponentType.APPLICATION, name="rolecall", bom_ref="rolecall")
    bom.register_dependency(bom.metadata.component, [components[function] for function in functions])
    for package, normal in dependencies.items():
        bom.register_dependency(components[package], [components[dependency] for dependency in normal])
    text = JsonV1Dot6(bom).output_as_string(indent=2)
    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error is not None:
        sys.exit(f"the bill of materials is not valid: {error}")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    crates = sum(1 for component in components.values() if component.purl)
    if crates < 100:
        sys.exit(f"the bill of materials has only {crates} crates of the registry")
    print(f"{path}: {len(functions)} packages of functions, {crates} crates")


main(sys.argv[1])
