#!/bin/bash
# Tries make targets in a bare Debian 12 that has only git and make, on a fresh clone of HEAD:
#
#   scripts/bare-bookworm.sh demo test test-full
#
# Needs root, and mmdebstrap. The packages come from this machine's own apt sources
# (QKV_APT_SOURCES, default the file that Debian's installer writes). The system is made once, in
# QKV_BARE_FOLDER (default /var/tmp/qkv-bare), and unpacked anew each time; the last one stays for
# a look. QKV_BARE_KEEP=1 goes on with the last one and its packages, with a fresh clone.
# The network is this machine's, and so are the certificates that it is trusted by.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "usage: bare-bookworm.sh TARGET..." >&2; exit 2; }
[ "$(id -u)" -eq 0 ] || { echo "bare-bookworm.sh: run as root" >&2; exit 1; }

folder=${QKV_BARE_FOLDER:-/var/tmp/qkv-bare}
sources=${QKV_APT_SOURCES:-}
if [ -z "$sources" ]; then
  for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    [ ! -s $sources ] || break
  done
fi
archive=$folder/bookworm.tar
system=$folder/root

mkdir -p "$folder"
if [ ! -f "$archive" ]; then
  command -v mmdebstrap >/dev/null || { echo "bare-bookworm.sh: install mmdebstrap" >&2; exit 1; }
  mmdebstrap --variant=minbase --include=git,make --format=tar bookworm "$archive.new" "$sources"
  mv "$archive.new" "$archive"
fi
if [ -z "${QKV_BARE_KEEP:-}" ] || [ ! -d "$system" ]; then
  rm -rf --one-file-system "$system"
  mkdir -p "$system"
  tar -C "$system" -xf "$archive" --exclude='./dev/*'
fi
rm -rf "$system/root/qkv"
git clone --quiet --no-hardlinks . "$system/root/qkv"

certificates=/etc/ssl/certs/ca-certificates.crt
cp $certificates "$system/root/certificates.crt"

# A mount namespace of its own: whatever happens, no mount stays behind.
for target in "$@"; do
  begin=$SECONDS
  echo "== bare bookworm: make $target"
  env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CI="${CI:-}" SYSTEM="$system" \
    PIP_CERT=/root/certificates.crt NODE_EXTRA_CA_CERTS=/root/certificates.crt \
    TARGET="$target" unshare --mount --pid --fork --kill-child sh -eu -c '
      mount --bind "$SYSTEM" "$SYSTEM"
      mount -t proc proc "$SYSTEM/proc"
      mount --rbind /dev "$SYSTEM/dev"
      exec chroot "$SYSTEM" make -C /root/qkv --no-print-directory "$TARGET"' </dev/null
  echo "== bare bookworm: make $target took $((SECONDS - begin)) seconds"
done
