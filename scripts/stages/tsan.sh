# ThreadSanitizer, with a oneTBB that was built with it: Debian's gives hundreds of false reports.
source scripts/lib.sh
say "oneTBB with ThreadSanitizer"
scripts/build-tsan-tbb.sh
configure tsan
build_labelled tsan $quick_labels
# Without the first, a test of an allocation that must fail ends in a report.
export TSAN_OPTIONS=allocator_may_return_null=1:external_symbolizer_path=/usr/bin/llvm-symbolizer-19
run_labelled tsan $quick_labels
