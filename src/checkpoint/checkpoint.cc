#include "qkv/checkpoint.h"

#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "io/guard.h"

namespace qkv::nn {
namespace {

// A checkpoint's tensors are named by what they belong to; a file of parameters alone has no
// prefixes, so that other programs find the names they expect.
constexpr char kParameter[] = "parameter.", kOptimizer[] = "optimizer.", kState[] = "state.";
constexpr char kSteps[] = "qkv.steps";  // metadata: how many steps the optimiser has made

std::string in_file(const std::string& path) { return "\"" + path + "\""; }

// A place to fill, and the name it has in the file.
struct Wanted {
  std::string name;
  Tensor to;
};

std::vector<Wanted> parameters_wanted(const Parameters& parameters, const std::string& prefix) {
  std::vector<Wanted> wanted;
  for (const Parameter& p : parameters.all()) wanted.push_back({prefix + p.name, p.value});
  return wanted;
}

// Reads what is wanted. `found` has the tensors in the order of `wanted`; no number is copied yet.
Status read_all(const std::string& path, const io::Reader& reader,
                const std::vector<Wanted>& wanted, std::vector<Tensor>& found) {
  std::map<std::string, const io::ArrayInfo*> in_the_file;
  for (const io::ArrayInfo& array : reader.arrays()) in_the_file[array.name] = &array;
  for (const Wanted& w : wanted) {
    if (!in_the_file.contains(w.name)) {
      return invalid_argument(in_file(path) + ": has no tensor \"" + w.name +
                              "\", which the model has; give the file of this model");
    }
    Tensor& tensor = found.emplace_back();
    if (Status s = reader.read(w.name, tensor); !s.ok()) return s;
    if (tensor.dtype() != DType::kFloat32 || shape_string(tensor) != shape_string(w.to)) {
      return invalid_argument(in_file(path) + ": \"" + w.name + "\" is " + describe(tensor) +
                              "; the model's is float32 " + shape_string(w.to));
    }
  }
  return {};
}

void copy_all(const std::vector<Wanted>& wanted, const std::vector<Tensor>& found) {
  for (std::size_t n = 0; n < wanted.size(); ++n) {
    if (found[n].size() == 0) continue;
    std::memcpy(wanted[n].to.data<float>(), found[n].data<float>(),
                static_cast<std::size_t>(found[n].size()) * sizeof(float));
  }
}

// The first tensor of the file that is neither wanted nor begins with `free`.
Status refuse_others(const std::string& path, const io::Reader& reader,
                     const std::vector<Wanted>& wanted, const std::string& free) {
  std::map<std::string, bool> known;
  for (const Wanted& w : wanted) known[w.name] = true;
  for (const io::ArrayInfo& array : reader.arrays()) {
    if (known.contains(array.name) || (!free.empty() && array.name.starts_with(free))) continue;
    return invalid_argument(in_file(path) + ": has a tensor \"" + array.name +
                            "\", which the model has not; give the file of this model");
  }
  return {};
}

}  // namespace

Status save_parameters(const std::string& path, const Parameters& parameters,
                       const io::WriteOptions& options) {
  return io::guarded(in_file(path), [&]() -> Status {
    std::vector<io::NamedTensor> tensors;
    for (const Parameter& p : parameters.all()) tensors.push_back({p.name, p.value});
    return io::write(path, tensors, options);
  });
}

Status load_parameters(const std::string& path, Parameters& parameters) {
  return io::guarded(in_file(path), [&]() -> Status {
    io::Reader reader;
    if (Status s = io::Reader::open(path, reader); !s.ok()) return s;
    const std::vector<Wanted> wanted = parameters_wanted(parameters, "");
    std::vector<Tensor> found;
    if (Status s = read_all(path, reader, wanted, found); !s.ok()) return s;
    if (Status s = refuse_others(path, reader, wanted, ""); !s.ok()) return s;
    copy_all(wanted, found);
    return {};
  });
}

Status save_checkpoint(const std::string& path, const Parameters& parameters,
                       const Optimizer& optimizer, const TrainingState& state) {
  return io::guarded(in_file(path), [&]() -> Status {
    std::vector<io::NamedTensor> tensors;
    for (const Parameter& p : parameters.all()) tensors.push_back({kParameter + p.name, p.value});
    for (const auto& [name, tensor] : optimizer.state()) {
      tensors.push_back({kOptimizer + name, tensor});
    }
    for (const auto& [name, tensor] : state.tensors) tensors.push_back({kState + name, tensor});
    io::WriteOptions options;
    options.overwrite = true;
    options.metadata = state.metadata;
    options.metadata[kSteps] = std::to_string(optimizer.steps());
    return io::write(path, tensors, options);
  });
}

Status load_checkpoint(const std::string& path, Parameters& parameters, Optimizer& optimizer,
                       TrainingState& state) {
  return io::guarded(in_file(path), [&]() -> Status {
    io::Reader reader;
    if (Status s = io::Reader::open(path, reader); !s.ok()) return s;
    const auto& metadata = reader.metadata();
    const auto at = metadata.find(kSteps);
    std::int64_t steps = -1;
    if (at != metadata.end()) {
      const char* const end = at->second.data() + at->second.size();
      const auto [stop, error] = std::from_chars(at->second.data(), end, steps);
      if (error != std::errc() || stop != end) steps = -1;
    }
    if (steps < 0) {
      return invalid_argument(
          in_file(path) +
          ": is no checkpoint (its metadata has no count of steps); give a file "
          "that save_checkpoint() wrote");
    }
    std::vector<Wanted> wanted = parameters_wanted(parameters, kParameter);
    for (const auto& [name, tensor] : optimizer.state()) {
      wanted.push_back({kOptimizer + name, tensor});
    }
    std::vector<Tensor> found;
    if (Status s = read_all(path, reader, wanted, found); !s.ok()) return s;
    if (Status s = refuse_others(path, reader, wanted, kState); !s.ok()) return s;
    TrainingState loaded;
    loaded.metadata = metadata;
    loaded.metadata.erase(kSteps);
    for (const io::ArrayInfo& array : reader.arrays()) {
      if (!array.name.starts_with(kState)) continue;
      Tensor& tensor = loaded.tensors[array.name.substr(sizeof(kState) - 1)];
      if (Status s = reader.read(array.name, tensor); !s.ok()) return s;
    }
    copy_all(wanted, found);
    optimizer.set_steps(steps);
    state = std::move(loaded);
    return {};
  });
}

}  // namespace qkv::nn
