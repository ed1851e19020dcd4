#!/bin/bash
# Installs the Debian 12 packages that a level of work needs: setup.sh build|test|full.
# When all are there already, it does nothing and needs no network. Elsewhere than on Debian,
# install the same things by other means and set QKV_SKIP_SETUP=1.
set -euo pipefail

level=${1:?usage: setup.sh build|test|full}
[ -z "${QKV_SKIP_SETUP:-}" ] || exit 0

# The library, the command and the examples.
packages=(g++ cmake ninja-build pkg-config
          libhwy-dev libtbb-dev libfmt-dev libcli11-dev nlohmann-json3-dev
          zlib1g-dev)
# Tests and checks. NumPy reads back what qkv wrote.
if [ "$level" != build ]; then
  packages+=(libgtest-dev libgmock-dev libeigen3-dev python3 python3-numpy clang-format-19)
fi
# A second compiler and its tools, the cross builds, and what builds oneTBB from source.
if [ "$level" = full ]; then
  packages+=(clang-19 clang-tidy-19 libclang-rt-19-dev llvm-19 dpkg-dev
             lld-19 libclang-rt-19-dev-wasm32 libc++-19-dev-wasm32 wasi-libc)
  # On an AArch64 machine the native tests are the AArch64 tests.
  [ "$(uname -m)" = aarch64 ] || packages+=(g++-12-aarch64-linux-gnu qemu-user)
fi

stop() {
  echo "setup.sh: $1" >&2
  echo "setup.sh: '$level' needs these Debian 12 packages: ${packages[*]}" >&2
  echo "setup.sh: if you have them by other means, set QKV_SKIP_SETUP=1" >&2
  exit 1
}

command -v apt-get dpkg-query >/dev/null || stop "this is not a Debian system"

missing=()
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
for package in "${packages[@]}"; do
  grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || stop "missing ${missing[*]}; run as root, or install sudo"
  as_root=(sudo)
fi
# LC_ALL: a bare system has no locale but C, and perl complains about any other.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
     apt-get -q -y -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)

echo "== installing ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ "${apt[@]}" update && "${apt[@]}" install --no-install-recommends "${missing[@]}"; } \
  >"$log" 2>&1 || { tail -n 20 "$log" >&2; stop "could not install ${missing[*]}"; }
