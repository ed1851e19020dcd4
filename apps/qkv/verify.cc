// qkv verify: every kernel against the hashes of the scalar program that defines the bits.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "break.h"
#include "command.h"
#include "golden.h"
#include "interrupt.h"
#include "numbers.h"
#include "qkv/contract.h"
#include "qkv/cpu.h"
#include "terminal.h"

namespace qkv::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kThreads[] = {1, 2, 4};

constexpr const char* kDescription =
    "Computes a fixed list of problems with every kernel that this machine can run, on 1, 2 and 4\n"
    "threads, and compares the bits of every result with those of the scalar program that defines\n"
    "the arithmetic contract. The exit code is 0 if all are equal, else 1.";

struct VerifyRequest {
  std::optional<Isa> isa;
  bool list = false, json = false;
};

struct Mismatch {
  std::string_view problem;
  std::uint64_t expected, found;
};

// One kernel on so many threads.
struct Run {
  Isa isa;
  int threads;
  std::vector<Mismatch> mismatches;
};

VerifyRequest parse_verify(int argc, const char* const* argv) {
  VerifyRequest request;
  std::string isa, fault;
  CLI::App app{kDescription, "qkv verify"};
  app.add_option("--isa", isa, "Only this instruction set")->option_text("NAME");
  app.add_flag("--list", request.list, "Name the problems, compute nothing");
  app.add_flag("--json", request.json, "Print one JSON object")->disable_flag_override();
  app.add_option("--break", fault,
                 "Damage a function first, so that the check must fail: exp (only in builds with "
                 "QKV_BREAKABLE)")
      ->option_text("WHAT");
  parse_options(app, "  qkv verify\n  qkv verify --isa avx2 --json", argc, argv);
  if (!isa.empty()) request.isa = parse_isa(isa);
  if (fault.empty()) return request;
  if (fault != "exp")
    throw usage("--break: " + in_quotes(fault) + " can't be damaged; only exp can");
  if (!break_exp()) {
    throw usage(
        "--break: this build has no way to damage its kernels; build qkv with "
        "-DQKV_BREAKABLE=ON");
  }
  return request;
}

std::vector<Isa> isas_to_check(const VerifyRequest& request) {
  if (!request.isa || *request.isa == Isa::kBest) return usable_isas();
  return {*request.isa};
}

void check_table() {
  const std::span<const GoldenHash> hashes = golden_hashes();
  bool fits = static_cast<int>(hashes.size()) == golden_count();
  for (int i = 0; fits && i < golden_count(); ++i) fits = hashes[i].name == golden_problem(i).name;
  if (!fits) throw Failure(kCheckFailed, "golden.inc does not fit golden.cc; run make_golden");
}

std::vector<Run> run_all(const std::vector<Isa>& isas) {
  const CancelScope cancel;
  Progress progress("verify");
  std::vector<Run> runs;
  for (Isa isa : isas) {
    for (int threads : kThreads) runs.push_back({isa, threads, {}});
  }
  const double total = static_cast<double>(runs.size()) * golden_count();
  double done = 0;
  for (int i = 0; i < golden_count(); ++i) {
    for (Run& run : runs) {
      GoldenProblem problem = golden_problem(i);
      ExecutionOptions execution;
      execution.threads = run.threads;
      execution.isa = run.isa;
      execution.cancel = cancel.flag();
      attention(problem.inputs, problem.outputs, problem.options, execution);
      const std::uint64_t expected = golden_hashes()[i].hash, found = hash_of(problem.outputs);
      if (found != expected) run.mismatches.push_back({problem.name, expected, found});
      progress.update(++done / total);
    }
  }
  return runs;
}

void print_text(const std::vector<Run>& runs) {
  const Contract c = contract();
  fmt::print("{} problems, contract {} version {}\n\n", golden_count(), c.name, c.version);
  fmt::print("{:<10}", "threads");
  for (int threads : kThreads) fmt::print("{:>16}", threads);
  fmt::print("\n");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    if (i % std::size(kThreads) == 0) fmt::print("{:<10}", name_of(run.isa));
    const bool good = run.mismatches.empty();
    const std::string cell = good ? "equal bits" : fmt::format("{} DIFFER", run.mismatches.size());
    fmt::print("{}",
               painted(fmt::format("{:>16}", cell), good ? Colour::kGreen : Colour::kRed, stdout));
    if (i % std::size(kThreads) == std::size(kThreads) - 1) fmt::print("\n");
  }
  for (const Run& run : runs) {
    constexpr std::size_t kShown = 5;
    const std::size_t count = run.mismatches.size();
    for (std::size_t i = 0; i < std::min(count, kShown); ++i) {
      const Mismatch& mismatch = run.mismatches[i];
      fmt::print("{}, {} thread{}: {}: expected {:016x}, found {:016x}\n", name_of(run.isa),
                 run.threads, run.threads == 1 ? "" : "s", mismatch.problem, mismatch.expected,
                 mismatch.found);
    }
    if (count > kShown) fmt::print("  and {} more; --json lists all\n", count - kShown);
  }
}

void print_json(const std::vector<Run>& runs, bool equal) {
  Json list = Json::array();
  for (const Run& run : runs) {
    Json mismatches = Json::array();
    for (const Mismatch& mismatch : run.mismatches) {
      mismatches.push_back({{"problem", mismatch.problem},
                            {"expected", fmt::format("{:016x}", mismatch.expected)},
                            {"found", fmt::format("{:016x}", mismatch.found)}});
    }
    list.push_back(
        {{"isa", name_of(run.isa)}, {"threads", run.threads}, {"mismatches", mismatches}});
  }
  const Contract c = contract();
  const Json json = {{"equal", equal},
                     {"problems", golden_count()},
                     {"contract", {{"name", c.name}, {"version", c.version}}},
                     {"version", version()},
                     {"cpu", cpu_name()},
                     {"runs", list}};
  fmt::print("{}\n", json.dump(2));
}

int print_list(bool json) {
  Json names = Json::array();
  for (const GoldenHash& golden : golden_hashes()) {
    names.push_back(golden.name);
    if (!json) fmt::print("{:016x}  {}\n", golden.hash, golden.name);
  }
  if (json) fmt::print("{}\n", Json{{"problems", names}}.dump(2));
  return kSuccess;
}

}  // namespace

int verify(int argc, const char* const* argv) {
  const VerifyRequest request = parse_verify(argc, argv);
  check_table();
  if (request.list) return print_list(request.json);
  const std::vector<Run> runs = run_all(isas_to_check(request));
  bool equal = true;
  for (const Run& run : runs) equal = equal && run.mismatches.empty();
  if (request.json) {
    print_json(runs, equal);
  } else {
    print_text(runs);
  }
  return equal ? kSuccess : kCheckFailed;
}

}  // namespace qkv::app
