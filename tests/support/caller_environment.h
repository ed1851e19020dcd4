// Floating-point modes that a caller may be in.
#ifndef QKV_TESTS_SUPPORT_CALLER_ENVIRONMENT_H_
#define QKV_TESTS_SUPPORT_CALLER_ENVIRONMENT_H_

#include <cstdint>

namespace qkv::test {

enum class CallerMode { kDefault, kFlushSubnormals, kRoundUpward, kTraps };
inline constexpr CallerMode kCallerModes[] = {CallerMode::kDefault, CallerMode::kFlushSubnormals,
                                              CallerMode::kRoundUpward, CallerMode::kTraps};
const char* name_of(CallerMode mode);

// Puts this thread in the mode while it lives.
class CallerEnvironment {
 public:
  explicit CallerEnvironment(CallerMode mode);
  ~CallerEnvironment();
  CallerEnvironment(const CallerEnvironment&) = delete;

  // Is the thread still in the mode, sticky flags included, as it was left?
  bool unchanged() const;

 private:
  std::uint64_t before_, mode_;
};

}  // namespace qkv::test

#endif  // QKV_TESTS_SUPPORT_CALLER_ENVIRONMENT_H_
