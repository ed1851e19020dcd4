// QKV_SANITIZED: defined in a sanitized build. GCC tells by macros, clang by features.
#ifndef QKV_TESTS_SUPPORT_SANITIZERS_H_
#define QKV_TESTS_SUPPORT_SANITIZERS_H_

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define QKV_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define QKV_SANITIZED 1
#endif
#endif

#endif  // QKV_TESTS_SUPPORT_SANITIZERS_H_
