# AddressSanitizer and UndefinedBehaviorSanitizer over the tests that are quick enough for them.
source scripts/lib.sh
configure asan-ubsan
build_labelled asan-ubsan $quick_labels
export UBSAN_OPTIONS=print_stacktrace=1
run_labelled asan-ubsan $quick_labels
