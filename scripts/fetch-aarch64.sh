#!/bin/bash
# Unpacks the arm64 libraries that the cross build needs into build/deps/aarch64. Nothing is
# installed: as system packages they would pull in half of an arm64 system.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$PWD/build/deps/aarch64
packages="libhwy1 libhwy-dev libgtest-dev libgmock-dev googletest libeigen3-dev"
[ "$(cat "$target/complete" 2>/dev/null)" != "$packages" ] || exit 0

rm -rf "$target"
mkdir -p "$target/debs"
source scripts/private-apt.sh
private_apt "$target/apt" arm64 binary
cd "$target/debs"
"${apt_get[@]}" update
"${apt_get[@]}" download $packages
for package in *.deb; do dpkg -x "$package" "$target"; done
rm -rf "$target/apt" "$target/debs"
echo "$packages" >"$target/complete"
