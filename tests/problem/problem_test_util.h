// A good problem to spoil, for the tests of validate().
#ifndef QKV_TESTS_PROBLEM_PROBLEM_TEST_UTIL_H_
#define QKV_TESTS_PROBLEM_PROBLEM_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "problem/problem.h"

namespace qkv::test {

using Shape = std::vector<std::int64_t>;

// An address 2^36 * n: validate() must read no tensor, so no memory needs to be there.
inline void* place(int n) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(n) << 36); }

inline MutableTensorView tensor(int n, const Shape& shape, DType dtype = DType::kFloat32) {
  return {place(n), dtype, shape};
}

// query [2, 4, 3, 8], key [2, 2, 5, 8], value [2, 2, 5, 6], out [2, 4, 3, 6].
inline Problem good_problem() {
  Problem p;
  p.inputs = {tensor(1, {2, 4, 3, 8}), tensor(2, {2, 2, 5, 8}), tensor(3, {2, 2, 5, 6})};
  p.outputs.out = tensor(4, {2, 4, 3, 6});
  return p;
}

// Packed: query [6, 4, 8] of sequences of 2 and 4, key [7, 2, 8] of 3 and 4, value [7, 2, 6].
inline Problem packed_problem() {
  Problem p;
  p.inputs = {tensor(1, {6, 4, 8}), tensor(2, {7, 2, 8}), tensor(3, {7, 2, 6})};
  p.outputs.out = tensor(4, {6, 4, 6});
  p.options.query_cu_seqlens = {0, 2, 6};
  p.options.key_cu_seqlens = {0, 3, 7};
  return p;
}

inline Problem of_type(DType dtype) {
  Problem p = good_problem();
  p.inputs.query.dtype = p.inputs.key.dtype = p.inputs.value.dtype = p.outputs.out.dtype = dtype;
  return p;
}

struct Refusal {
  std::function<void(Problem&)> spoil;
  std::string message;
};

inline void expect_refused(const std::vector<Refusal>& refusals,
                           const std::function<Problem()>& good = good_problem,
                           StatusCode code = StatusCode::kInvalidArgument) {
  Problem unspoiled = good();
  ASSERT_TRUE(validate(unspoiled).ok()) << validate(unspoiled).message();
  for (const Refusal& refusal : refusals) {
    Problem p = good();
    refusal.spoil(p);
    const Status status = validate(p);
    EXPECT_EQ(status.code(), code) << refusal.message;
    EXPECT_EQ(status.message(), refusal.message);
  }
}

inline void expect_good(Problem p) {
  const Status status = validate(p);
  EXPECT_TRUE(status.ok()) << status.message();
}

inline std::string message_of(Problem p) { return validate(p).message(); }

// Every message starts with the argument's name and ends with what to do.
inline ::testing::Matcher<const std::string&> names_and_advises(const std::string& name) {
  return ::testing::MatchesRegex(name + "[:, ].*; .+");
}

}  // namespace qkv::test

#endif  // QKV_TESTS_PROBLEM_PROBLEM_TEST_UTIL_H_
