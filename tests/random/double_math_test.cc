#include "random/double_math.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "qkv/random.h"
#include "random/expected.h"
#include "random/fnv1a.h"

namespace qkv::random {
namespace {

TEST(DoubleMath, LogOfComplementIsTheCLibrarysInEveryBit) {
  for (const Point& expected : kLogs) {
    EXPECT_EQ(log_of_complement(expected.x), expected.y) << "u = " << expected.x;
  }
}

TEST(DoubleMath, LogOfComplementIsTheCLibrarysForManyArguments) {
  std::vector<double> arguments(200'000);
  Generator(11).random(arguments);
  for (double center : {0x1.2bec4p-2, 0.5, 0.75}) {
    for (int i = -10'000; i <= 10'000; ++i) {
      arguments.push_back(center + i * (0x1p-33 + 0x1p-53));
    }
  }
  for (double& number : arguments) number = log_of_complement(number);
  EXPECT_EQ(fnv1a(arguments), kLogsHash);
}

TEST(DoubleMath, ExpIsTheCLibrarysToTheLastBit) {
  for (const Point& expected : kExps) {
    const double last_bit = expected.y * std::numeric_limits<double>::epsilon();
    EXPECT_NEAR(exp_nonpositive(expected.x), expected.y, last_bit) << "x = " << expected.x;
  }
}

}  // namespace
}  // namespace qkv::random
