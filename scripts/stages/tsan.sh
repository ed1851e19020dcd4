# ThreadSanitizer, with a oneTBB that was built with it: Debian's gives hundreds of false reports.
source scripts/lib.sh
say "oneTBB with ThreadSanitizer"
scripts/build-tsan-tbb.sh
configure tsan
build_labelled tsan $quick_labels
export TSAN_OPTIONS=external_symbolizer_path=/usr/bin/llvm-symbolizer-19
run_labelled tsan $quick_labels
