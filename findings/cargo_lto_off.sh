#!/usr/bin/env bash
# Cargo 1.95.0: what `cargo test` compiles again after `cargo build`, although no feature of a crate differs.
#
# One expects `cargo test` to compile only tests after `cargo build`, because both use the profile "dev". But two properties of
# a crate depend on all crates that a command builds. `unicode-ident` is below the macro `serde_derive`, and the package
# `names` of the workspace, which only the second command builds, links it:
# - A crate that only macros need gets no debug information, and one that is also linked does.
# - With `lto = "off"`, a crate that only macros need is compiled with Cargo's default for LTO, and one that is also linked is
#   not. The files keep their names, so the two commands undo each other's work for ever.
# Either way, everything above the crate is compiled again: here `serde` and the program itself. It takes both a profile
# without debug information for dependencies and the default for LTO to compile nothing twice.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir -p program/src names/src
printf '[package]\nname = "program"\nedition = "2021"\n[dependencies]\nserde = { version = "=1.0.229", features = ["derive"] }\n' >program/Cargo.toml
printf '[package]\nname = "names"\nedition = "2021"\n[dependencies]\nunicode-ident = "=1.0.27"\n' >names/Cargo.toml
echo '#[derive(serde::Serialize)] pub struct One; fn main() {}' >program/src/main.rs
echo 'pub fn is_start(c: char) -> bool { unicode_ident::is_xid_start(c) }' >names/src/lib.rs

# Prints the number of dependencies that are compiled again with these lines in the manifest.
compiled_again() {
  printf '[workspace]\nresolver = "2"\nmembers = ["program", "names"]\n%s\n' "$1" >Cargo.toml
  rm -rf target
  cargo build --quiet --package program
  cargo test --no-run 2>&1 >/dev/null | grep -cE 'Compiling (unicode-ident|proc-macro2|quote|syn|serde|serde_derive|serde_core) ' || true
}

# The settings of whoever calls this must not matter.
unset RUSTC_WORKSPACE_WRAPPER CARGO_PROFILE_DEV_DEBUG CARGO_TARGET_DIR
cargo --version
default=$(compiled_again '')
lean=$(compiled_again $'[profile.dev.package."*"]\ndebug = false')
off=$(compiled_again $'[profile.dev]\nlto = "off"\n[profile.dev.package."*"]\ndebug = false')
echo "dependencies compiled again: $default by default, $lean without debug information, $off also without LTO"
[[ $default == 6 && $lean == 0 && $off == 6 ]] || { echo "Cargo behaves in another way now" >&2; exit 1; }
