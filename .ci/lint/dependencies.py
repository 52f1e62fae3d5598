"""Checks the dependencies of the workspace: usage, licenses, sources, banned crates, duplicate versions and features.

Usage: dependencies.py
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
# The functions run on these. Other platforms' dependencies are not downloaded; only their sources are checked.
PLATFORMS = ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-gnu"]

# Licenses that allow distribution in binaries under Apache-2.0 and require at most attribution.
ALLOWED_LICENSES = {"Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unicode-3.0", "Zlib"}

# Other licenses, each allowed for the named crates only.
LICENSE_EXCEPTIONS = {
    # MPL-2.0 covers changes to the crate's own files, and the project changes none.
    "MPL-2.0": {
        "crypto-glue",
        "cssparser",
        "cssparser-macros",
        "dtoa-short",
        "selectors",
        "webauthn-attestation-ca",
        "webauthn-rs",
        "webauthn-rs-core",
        "webauthn-rs-proto",
    },
    # LLVM's older license, which requires only attribution. The crate is linked into fuzzers, which are never distributed.
    "NCSA": {"libfuzzer-sys"},
}

ONE_TLS = "TLS is rustls with ring everywhere"
# Crates that no package may depend on, directly or indirectly.
BANNED = {
    "aws-lc-rs": ONE_TLS,
    "aws-lc-sys": ONE_TLS,
    "hyper-tls": ONE_TLS,
    "native-tls": ONE_TLS,
    "openssl": ONE_TLS,
    "openssl-sys": ONE_TLS,
    "async-std": "tokio is the runtime",
}

EMBEDDED_DATABASE = "the embedded database belongs to the local service and the tests"
REGEX_TABLES = "it makes functions larger and slower to start; use string methods"
# Crates that no function may link.
BANNED_IN_FUNCTIONS = {
    "dynoxide-rs": EMBEDDED_DATABASE,
    "libsqlite3-sys": EMBEDDED_DATABASE,
    "rusqlite": EMBEDDED_DATABASE,
    # Only a client in the tests needs it.
    "chrono": "jiff is the library for dates and times",
    "axum": "functions have their own router in shared::http",
    "clap": "functions have no command line",
    "h2": "functions speak HTTP/1.1, and HTTP/2 makes them larger and slower to start",
    "regex": REGEX_TABLES,
    "regex-automata": REGEX_TABLES,
    "rolecall-local": "the local service is not deployed",
    "tests": "the tests' environment is not deployed",
}

# Crates with types or global state that packages share. Two versions of them do not work together.
ONE_VERSION = {
    "aws-smithy-runtime-api",
    "aws-smithy-types",
    "bytes",
    "http",
    "http-body",
    "hyper",
    "jiff",
    "lambda_http",
    "lambda_runtime",
    "ring",
    "rustls",
    "serde",
    "serde_core",
    "serde_json",
    "tokio",
    "tracing",
    "tracing-core",
    "url",
    "utoipa",
}

# Usage


def without_tests(text):
    """Removes items under `#[cfg(test)]` from formatted source text."""
    kept = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() != "#[cfg(test)]":
            kept.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        for item in lines:
            # The item ends on its first line, or with a bracket at the same indentation.
            if item.startswith(f"{indent}#["):
                continue
            if item.rstrip().endswith(";") or item.startswith((f"{indent}}}", f"{indent})")):
                break
    return "\n".join(kept)


def test_modules(path, text):
    """Returns the files and folders of the modules that a source file declares under `#[cfg(test)]`."""
    folder = path.parent if path.name in ("lib.rs", "main.rs", "mod.rs") else path.with_suffix("")
    names = re.findall(r"#\[cfg\(test\)\]\n\s*(?:pub(?:\([a-z]+\))? )?mod (\w+);", text)
    return [found for name in names for found in (folder / f"{name}.rs", folder / name)]


def without_comments(text):
    """Removes line comments from source text. Strings stay, because attributes name crates in strings."""
    return re.sub(r"(?:^|(?<=\s))//.*", "", text, flags=re.MULTILINE)


def names_crate(text, crate):
    """Tells whether source text uses a crate: `crate::...`, `use crate` or `extern crate`."""
    path = rf"(?<![\w.])(?<!\w::){crate}\s*::"
    declaration = rf"\b(?:use|extern\s+crate)\s+(?:::)?{crate}\b"
    return re.search(f"{path}|{declaration}", text) is not None


def sources(package):
    """Returns a package's source text for each kind of dependency.

    Normal dependencies (`None`) belong to the library and the binaries without their tests, `dev` to all targets, and
    `build` to the build script.
    """
    linked, everything, build_script = {}, {}, {}
    for target in package["targets"]:
        root = Path(target["src_path"])
        if "custom-build" in target["kind"]:
            # A build script with modules has a folder of its own.
            for path in [root] if root.name == "build.rs" else root.parent.rglob("*.rs"):
                build_script[path] = path.read_text()
            continue
        for path in root.parent.rglob("*.rs"):
            everything[path] = path.read_text()
            if not {"test", "bench", "example"} & set(target["kind"]):
                linked[path] = everything[path]
    tests = [found for path, text in linked.items() for found in test_modules(path, text)]
    outside_tests = [
        without_tests(text)
        for path, text in linked.items()
        if not any(path == test or test in path.parents for test in tests)
    ]
    return {
        None: without_comments("\n".join(outside_tests)),
        "dev": without_comments("\n".join(everything.values())),
        "build": without_comments("\n".join(build_script.values())),
    }


def check_usage(package, crates, texts):
    """Yields the dependencies that a package does not use. `crates` maps a dependency to its name in source text."""
    manifest = os.path.relpath(package["manifest_path"], ROOT)
    dependencies = package["dependencies"]
    linked_features = {found["name"]: set(found["features"]) for found in dependencies if found["kind"] is None}
    for dependency in dependencies:
        name, kind = dependency["name"], dependency["kind"]
        crate = crates.get(name, name.replace("-", "_"))
        if kind == "dev" and name in linked_features and linked_features[name].issuperset(dependency["features"]):
            yield f"{manifest}: [dev-dependencies] repeats {name} without another feature; remove it there"
        elif names_crate(texts[kind], crate):
            continue
        elif kind is None and names_crate(texts["dev"], crate):
            yield f"{manifest}: only tests use {name}; move it to [dev-dependencies]"
        else:
            yield (
                f"{manifest}: nothing in the package uses {name}; remove it. If the package only has to link it, "
                f"write `use {crate} as _;` with the reason"
            )


def crate_names(metadata, package):
    """Maps the names of a package's dependencies to their names in source text."""
    names = {found["id"]: found["name"] for found in metadata["packages"]}
    node = next(node for node in metadata["resolve"]["nodes"] if node["id"] == package["id"])
    return {names[dependency["pkg"]]: dependency["name"] for dependency in node["deps"]}


def dependency_tables(manifest):
    """Yields the dependency tables of a manifest, including those for platforms."""
    for part in [manifest, *manifest.get("target", {}).values()]:
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield part.get(kind, {})


def check_workspace_dependencies(workspace, members):
    """Yields the entries of `[workspace.dependencies]` that no member uses. The arguments are manifests."""
    used = {
        name
        for member in members
        for table in dependency_tables(member)
        for name, dependency in table.items()
        if isinstance(dependency, dict) and dependency.get("workspace")
    }
    for name in sorted(workspace["workspace"]["dependencies"].keys() - used):
        yield f"Cargo.toml: no package uses {name} of [workspace.dependencies]; remove it"


# Licenses


def license_allowed(expression, allowed):
    """Tells whether an SPDX expression can be satisfied with a set of licenses. A slash means OR, as in old manifests.

    A license with an exception counts as a license of its own, such as `Apache-2.0 WITH LLVM-exception`.
    """
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    position = 0

    def peek():
        return tokens[position] if position < len(tokens) else None

    def take():
        nonlocal position
        token = peek()
        position += 1
        return token

    def license_name():
        token = take()
        if token is None or token in ("(", ")", "AND", "OR", "WITH"):
            raise ValueError(f"{expression!r} is not an SPDX expression")
        return token

    def operand():
        if peek() == "(":
            take()
            result = alternatives()
            if take() != ")":
                raise ValueError(f"{expression!r} lacks a closing parenthesis")
            return result
        name = license_name()
        if peek() == "WITH":
            take()
            name = f"{name} WITH {license_name()}"
        return name in allowed

    def conjunction():
        results = [operand()]
        while peek() == "AND":
            take()
            results.append(operand())
        return all(results)

    def alternatives():
        results = [conjunction()]
        while peek() == "OR":
            take()
            results.append(conjunction())
        return any(results)

    result = alternatives()
    if peek() is not None:
        raise ValueError(f"{expression!r} is not an SPDX expression")
    return result


def check_licenses(packages, allowed=ALLOWED_LICENSES, exceptions=LICENSE_EXCEPTIONS):
    """Yields third-party crates whose license is not allowed, and exceptions that no crate needs."""
    needed = set()
    for package in packages:
        if package["source"] is None:
            continue
        crate, expression = f"{package['name']} {package['version']}", package["license"]
        excepted = {name for name, crates in exceptions.items() if package["name"] in crates}
        try:
            if license_allowed(expression or "", allowed):
                continue
            if license_allowed(expression or "", allowed | excepted):
                needed |= {(name, package["name"]) for name in excepted}
                continue
        except ValueError as error:
            yield f"{crate}: {error}; use another crate, or another version with a correct license field"
            continue
        yield (
            f"{crate} has the license {expression}, which is not allowed; use another crate, or add the license to "
            ".ci/lint/dependencies.py with the reason why the project may use it"
        )
    for name, crates in exceptions.items():
        for crate in sorted(crates):
            if (name, crate) not in needed:
                yield f".ci/lint/dependencies.py: {crate} needs no exception for {name}; remove the exception"


# Sources


def check_sources(locked, members):
    """Yields packages of Cargo.lock that are neither on crates.io nor members of the workspace."""
    for package in locked:
        crate, source = f"{package['name']} {package['version']}", package.get("source")
        if source is None and package["name"] not in members:
            yield f"{crate} is a folder outside the workspace; use a release on crates.io"
        if source is not None and source != CRATES_IO:
            yield f"{crate} comes from {source}; use a release on crates.io"


# Banned crates and duplicates


def tree(form, *options):
    """Returns the lines of `cargo tree` with these options, each crate in the given form."""
    command = ["cargo", "tree", "--locked", "--prefix=none", f"--format={form}", *options]
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.removesuffix(" (*)") for line in output.splitlines() if line}


def crates_of(*options):
    """Returns the names of the crates that `cargo tree` lists with these options.

    Cargo.lock also contains crates that only a disabled feature of another crate needs.
    """
    platforms = [f"--target={platform}" for platform in PLATFORMS]
    return {line.split()[0] for line in tree("{p}", *platforms, *options)}


def check_banned(crates, whose, banned):
    """Yields banned crates among the names of crates."""
    for name in sorted(crates & banned.keys()):
        yield (
            f"{whose} needs {name}, but {banned[name]}; `cargo tree --target all --invert {name}` shows what "
            "needs it: disable that feature, or use another crate"
        )


def is_function(package):
    """Tells whether a member of the workspace is a function."""
    return Path(package["manifest_path"]).is_relative_to(ROOT / "functions")


def duplicates(packages):
    """Maps the crates that have several versions to the versions."""
    versions = {}
    for package in packages:
        versions.setdefault(package["name"], set()).add(package["version"])
    return {name: ", ".join(sorted(found)) for name, found in sorted(versions.items()) if len(found) > 1}


def check_duplicates(packages):
    """Yields crates that have several versions but must have only one."""
    for name, versions in duplicates(packages).items():
        if name in ONE_VERSION:
            yield (
                f"{name} has the versions {versions}, but all crates must share one; `cargo tree --invert "
                f"{name}@VERSION` shows the crates that need the older one: update them"
            )


# Features


def check_features(run, linked_in_run, test, linked_in_test):
    """Yields crates that `cargo test` would compile again after `cargo run`, with all that needs them.

    The arguments are sets of `crate [features]`: all crates, and those that are not only for build scripts and macros.
    """
    for crate in sorted((run - test) | (run - linked_in_run) & linked_in_test):
        yield (
            f"`cargo test` would compile {crate} again, because dev-dependencies need other features of it, or link it "
            "although it is only for build scripts or macros otherwise; move them to [dependencies] of the package `tests`"
        )


def check(metadata):
    """Yields all mistakes."""
    packages = metadata["packages"]
    members = [package for package in packages if package["id"] in metadata["workspace_members"]]
    manifests = [tomllib.loads(Path(member["manifest_path"]).read_text()) for member in members]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    for member in members:
        yield from check_usage(member, crate_names(metadata, member), sources(member))
    yield from check_workspace_dependencies(workspace, manifests)
    yield from check_licenses(packages)
    yield from check_sources(locked, {member["name"] for member in members})
    yield from check_banned(crates_of("--workspace", "--edges=all"), "a package", BANNED)
    functions = [f"--package={member['name']}" for member in members if is_function(member)]
    linked = crates_of("--edges=normal,no-proc-macro", *functions)
    yield from check_banned(linked, "a function", BANNED_IN_FUNCTIONS)
    yield from check_duplicates(packages)
    edges = ["normal,build", "normal,no-proc-macro", "normal,build,dev", "normal,dev,no-proc-macro"]
    yield from check_features(*(tree("{p} [{f}]", "--workspace", f"--edges={kinds}") for kinds in edges))


def main():
    command = ["cargo", "metadata", "--locked", "--format-version=1", "--all-features"]
    command += [f"--filter-platform={platform}" for platform in PLATFORMS]
    cargo = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE)
    if cargo.returncode != 0:
        sys.exit("cargo metadata failed")
    metadata = json.loads(cargo.stdout)
    mistakes = list(check(metadata))
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if mistakes:
        sys.exit(f"mistakes in the dependencies: {len(mistakes)}")
    several = "; ".join(f"{name} {versions}" for name, versions in duplicates(metadata["packages"]).items())
    print(f"The dependencies are correct. Crates with several versions: {several}")


if __name__ == "__main__":
    main()
