// Prints golden.inc: the hashes of the golden problems as the scalar program `exact` computes them.
//
//   build/apps/qkv/make_golden > apps/qkv/golden.inc
//
// Needed when the problems or the contract's version change, and never otherwise.
#include <fmt/core.h>

#include "golden.h"
#include "kernels/exact/exact.h"
#include "problem/problem.h"
#include "qkv/contract.h"
#include "qkv/error.h"
#include "simd/float_environment.h"

int main() {
  const qkv::Contract contract = qkv::contract();
  fmt::print(
      "// Made by make_golden from src/kernels/exact: contract {} version {}. Do not edit.\n"
      "// clang-format off\n",
      contract.name, contract.version);
  for (int i = 0; i < qkv::app::golden_count(); ++i) {
    qkv::app::GoldenProblem golden = qkv::app::golden_problem(i);
    const qkv::FloatEnvironment environment;
    qkv::Problem problem;
    problem.inputs = golden.inputs;
    problem.options = golden.options;
    problem.outputs = golden.outputs;
    const qkv::Status status = qkv::validate(problem);
    if (!status.ok()) {
      fmt::print(stderr, "{}: {}\n", golden.name, status.message());
      return 1;
    }
    qkv::exact::attention(problem);
    fmt::print("{{\"{}\", {:#018x}}},\n", golden.name, qkv::app::hash_of(golden.outputs));
  }
  return 0;
}
