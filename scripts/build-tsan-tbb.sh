#!/bin/bash
# Builds Debian's oneTBB with ThreadSanitizer into build/deps/tsan-tbb (half a minute, once).
set -euo pipefail
cd "$(dirname "$0")/.."
prefix=$PWD/build/deps/tsan-tbb
[ ! -d "$prefix/lib/cmake/TBB" ] || exit 0

work=$PWD/build/deps/tsan-tbb-build
rm -rf "$work"
mkdir -p "$work"
source scripts/private-apt.sh
private_apt "$work/apt" "$(dpkg --print-architecture)" source
cd "$work"
"${apt_get[@]}" update
# The names of the unpacked folder differ between versions.
"${apt_get[@]}" source onetbb
cmake -G Ninja -S onetbb-*/ -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 -DTBB_SANITIZE=thread \
  -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF \
  -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib
cmake --build build
cmake --install build >/dev/null
cd "$prefix"
rm -rf "$work"
