// qkv info: what this build is and what this machine can run.
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "command.h"
#include "machine.h"
#include "qkv/contract.h"
#include "qkv/cpu.h"

namespace qkv::app {
namespace {

using Json = nlohmann::ordered_json;

struct KernelInfo {
  Isa isa;
  bool usable;
  std::string description;
};

std::vector<KernelInfo> kernels() {
  const std::vector<Isa> usable = usable_isas();
  std::vector<KernelInfo> result;
  for (Isa isa : built_isas()) {
    const bool can_run = std::ranges::find(usable, isa) != usable.end();
    result.push_back({isa, can_run, can_run ? describe_kernel(isa).kernel : "not on this CPU"});
  }
  return result;
}

void print_json(const PlanDescription& best) {
  Json list = Json::array();
  for (const KernelInfo& kernel : kernels()) {
    list.push_back({{"isa", name_of(kernel.isa)}, {"usable", kernel.usable}});
    if (kernel.usable) list.back()["description"] = kernel.description;
  }
  const Contract c = contract();
  const Json json = {{"version", version()},
                     {"contract",
                      {{"name", c.name},
                       {"version", c.version},
                       {"block", c.block},
                       {"span", c.span},
                       {"group", c.group}}},
                     {"cpu", cpu_name()},
                     {"kernels", list},
                     {"isa", name_of(best.isa)},
                     {"threads", {{"back_end", thread_backend()}, {"available", best.threads}}}};
  fmt::print("{}\n", json.dump(2));
}

void print_text(const PlanDescription& best) {
  const Contract c = contract();
  fmt::print("version   {}\n", version());
  fmt::print(
      "contract  {} version {}: dot products in groups of {}, blocks of {} keys, spans of {}\n",
      c.name, c.version, c.group, c.block, c.span);
  fmt::print("cpu       {}\n", cpu_name());
  fmt::print("threads   {}, {} available\n", thread_backend(), best.threads);
  fmt::print("kernels\n");
  for (const KernelInfo& kernel : kernels()) {
    fmt::print("  {:<9} {}{}\n", name_of(kernel.isa), kernel.description,
               kernel.isa == best.isa ? "  <- used" : "");
  }
}

}  // namespace

int info(int argc, const char* const* argv) {
  bool json = false;
  CLI::App app{
      "Shows the version, the arithmetic contract, the CPU, which kernels this build has and "
      "which\n"
      "of them this machine can run, and the threads. The environment variable QKV_ISA names the\n"
      "instruction set to use where --isa does not.",
      "qkv info"};
  app.add_flag("--json", json, "Print one JSON object");
  parse_options(app, "  qkv info\n  qkv info --json", argc, argv);
  const PlanDescription best = describe_kernel(Isa::kBest);
  if (json) {
    print_json(best);
  } else {
    print_text(best);
  }
  return kSuccess;
}

}  // namespace qkv::app
