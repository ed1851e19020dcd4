#!/bin/bash
# Speed and error of contract A with other blocks, spans and groups: builds bench/block_study.cc for
# each and runs them in turn, so that a noisy machine is noisy for all. Five rounds, with AVX-512 and
# with AVX2.
#   bench/block_study.sh [N] [D]
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/block-study
mkdir -p $build
variants="16:64:32 32:8:32 32:16:32 32:32:32 32:64:32 64:16:32 128:8:32 32:32:8 32:32:16 32:32:64 32:32:4096"
for variant in $variants; do
  IFS=: read -r block blocks group <<<"$variant"
  dir=$build/$block-$blocks-$group
  flags="-DQKV_BLOCK_KEYS=$block -DQKV_SPAN_BLOCKS=$blocks -DQKV_GROUP_TERMS=$group"
  cmake -G Ninja -S . -B "$dir" -DCMAKE_CXX_FLAGS="$flags" -DQKV_BUILD_APPS=OFF \
    -DQKV_BUILD_EXAMPLES=OFF -DQKV_BUILD_TESTS=OFF -DQKV_BUILD_IO=OFF \
    -DQKV_BUILD_BENCHMARKS=ON >"$build/log"
  cmake --build "$dir" --target block_study >>"$build/log"
done
for isa in avx512 avx2; do
  for round in 1 2 3 4 5; do
    for variant in $variants; do
      echo "$isa $(QKV_ISA=$isa "$build/${variant//:/-}/bench/block_study" "${1:-4096}" "${2:-64}")"
    done
  done
done | sort -V
