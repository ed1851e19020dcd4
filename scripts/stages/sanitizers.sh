# AddressSanitizer and UndefinedBehaviorSanitizer over the tests that are quick enough for them.
source scripts/lib.sh
configure asan-ubsan
build_labelled asan-ubsan $quick_labels
export UBSAN_OPTIONS=print_stacktrace=1
# Tests ask for more memory than there is; AddressSanitizer would stop instead of saying no.
export ASAN_OPTIONS=allocator_may_return_null=1
run_labelled asan-ubsan $quick_labels
