#!/usr/bin/env bash
# Builds functions with `cargo lambda build --release --arm64`, into TARGET/lambda. If this machine's Rust has no standard
# library for aarch64, it uses Debian's compiler in the folder ROOT. cargo-lambda links with zig, against a glibc that
# Lambda has.
#
# Usage: build.sh TARGET ROOT PACKAGE...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
target="$(realpath --relative-to=. "$1")"
root="$2"
shift 2
build=(cargo lambda build --release --arm64 --locked "${@/#/--package=}")

if [[ -d "$(rustc --print target-libdir --target aarch64-unknown-linux-gnu)" ]]; then
  exec env -u RUSTC_WORKSPACE_WRAPPER PATH="$PWD/.ci/.venv/bin:$PATH" CARGO_TARGET_DIR="$target" "${build[@]}"
fi

zig="$(echo "$PWD"/.ci/.venv/lib/python3*/site-packages/ziglang)"
registry="${CARGO_HOME:-$HOME/.cargo}/registry"
export root zig registry target
# The mounts end with the command.
# shellcheck disable=SC2016
exec unshare --mount bash -c '
  set -euo pipefail
  mkdir -p "$root"/{project,zig,root/.cargo/registry} "$registry"
  mount --bind . "$root/project"
  mount --bind "$zig" "$root/zig"
  mount --bind "$registry" "$root/root/.cargo/registry"
  mount --bind /proc "$root/proc"
  mount --bind /dev "$root/dev"
  exec chroot "$root" env -i HOME=/root PATH=/project/.ci/.venv/bin:/usr/bin:/bin:/zig CARGO_TARGET_DIR="/project/$target" \
    CARGO_TERM_COLOR=never bash -c "cd /project && exec \"\$@\"" - "$@"' - "${build[@]}"
