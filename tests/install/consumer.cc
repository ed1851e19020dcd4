// The mean of two values, by an installed qkv: both keys are alike, so attention gives (1 + 3) / 2.
#include <qkv/attention.h>

#include <cstdio>

int main() {
  const float q[] = {0}, k[] = {0, 0}, v[] = {1, 3};
  const qkv::Tensor out = qkv::attention({{q, {1, 1}}, {k, {2, 1}}, {v, {2, 1}}});
  std::printf("%g\n", static_cast<double>(out.data<float>()[0]));
  return out.data<float>()[0] == 2 ? 0 : 1;
}
