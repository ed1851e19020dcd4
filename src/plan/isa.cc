#include "plan/isa.h"

#include <cstdlib>
#include <string>

namespace qkv {
namespace {

constexpr std::string_view kNames[] = {"best", "portable", "neon", "avx2", "avx512"};

std::string usable_names() {
  std::string names;
  for (Isa isa : usable_isas()) names += (names.empty() ? "" : ", ") + std::string(name_of(isa));
  return names;
}

}  // namespace

std::string_view name_of(Isa isa) { return kNames[static_cast<int>(isa)]; }

bool isa_from_name(std::string_view name, Isa& isa) {
  for (int i = 0; i < static_cast<int>(std::size(kNames)); ++i) {
    if (name == kNames[i]) {
      isa = static_cast<Isa>(i);
      return true;
    }
  }
  return false;
}

std::vector<Isa> built_isas() {
  std::vector<Isa> isas;
  for (const KernelSet& set : kernel_sets()) isas.push_back(set.isa);
  return isas;
}

std::vector<Isa> usable_isas() {
  std::vector<Isa> isas;
  for (const KernelSet& set : kernel_sets()) {
    if (set.usable()) isas.push_back(set.isa);
  }
  return isas;
}

Status select_kernels(Isa isa, const KernelSet** kernels) {
  if (static_cast<std::size_t>(isa) >= std::size(kNames)) {
    return invalid_argument("isa: " + std::to_string(static_cast<int>(isa)) +
                            " is unknown; pass a value of Isa");
  }
  const char* forced = isa == Isa::kBest ? std::getenv("QKV_ISA") : nullptr;
  if (forced != nullptr && *forced != '\0' && !isa_from_name(forced, isa)) {
    return invalid_argument("QKV_ISA: \"" + std::string(forced) +
                            "\" is no instruction set of qkv; use one of " + usable_names());
  }
  *kernels = nullptr;
  for (const KernelSet& set : kernel_sets()) {
    if ((isa == Isa::kBest || set.isa == isa) && set.usable()) *kernels = &set;
  }
  if (*kernels == nullptr) {
    return unsupported((forced != nullptr && *forced != '\0' ? "QKV_ISA: " : "isa: ") +
                       std::string(name_of(isa)) +
                       " is not in this build or not in this CPU; use one of " + usable_names());
  }
  return {};
}

}  // namespace qkv
