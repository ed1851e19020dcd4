// qkv attend: attention from files to a file.
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "attend_options.h"
#include "attend_problem.h"
#include "command.h"
#include "interrupt.h"
#include "qkv/error.h"
#include "terminal.h"

namespace qkv::app {
namespace {

using Json = nlohmann::ordered_json;

// Everything about the output that can be known to fail, before the inputs are even read.
void check_output_file(const AttendRequest& request) {
  const std::string& path = request.output;
  if (path.empty()) return;
  io::Format format{};
  check(io::format_of(path, format));
  if (format == io::Format::kNpy && (request.lse || request.weights)) {
    throw usage(
        fmt::format("-o: {} holds a single array, `out`; for --lse and --weights name a "
                    ".npz or .safetensors file",
                    in_quotes(path)));
  }
  struct stat status = {};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISREG(status.st_mode) && !request.force) {
      throw Failure(kFileTrouble, fmt::format("-o: {} exists already; choose another name, or "
                                              "--force to overwrite it",
                                              in_quotes(path)));
    }
    if (!S_ISREG(status.st_mode)) {
      throw Failure(kFileTrouble, fmt::format("-o: {} is not a regular file; choose another name",
                                              in_quotes(path)));
    }
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const std::string directory = parent.empty() ? std::string(".") : parent;
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    throw Failure(kFileTrouble, fmt::format("-o: the directory {} is missing or not writable; "
                                            "create it, or choose another",
                                            in_quotes(directory)));
  }
}

// --force means an old result, not what the result is computed from.
void check_output_is_no_input(const AttendRequest& request, const AttendProblem& problem) {
  for (const std::string& input : problem.files) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(request.output, input, ignored)) continue;
    throw usage(
        fmt::format("-o: {} is one of the inputs; choose another name", in_quotes(request.output)));
  }
}

void check_output_type(const AttendRequest& request, const AttendProblem& problem) {
  if (request.output.empty() || problem.outputs.out.dtype != DType::kBFloat16) return;
  io::Format format{};
  check(io::format_of(request.output, format));
  if (format == io::Format::kSafetensors) return;
  throw usage(
      fmt::format("-o: {} can't hold bfloat16; name a .safetensors file, or pass "
                  "--out-dtype float32",
                  in_quotes(request.output)));
}

// The library's message "key_begin, key_lengths: ..." with the names of options at its head.
std::string with_option_names(std::string message) {
  const auto replace = [&](std::string_view name, std::string_view option) {
    const std::size_t place = message.find(name), colon = message.find(':');
    if (place < colon && colon != std::string::npos) message.replace(place, name.size(), option);
  };
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"query_cu_seqlens", "--cu-seqlens"},
      {"key_cu_seqlens", "--key-cu-seqlens"},
      {"query_lengths", "--query-lengths"},
      {"query_offset", "--query-offset"},
      {"key_lengths", "--key-lengths"},
      {"key_begin", "--key-begin"},
      {"alibi_slopes", "--alibi"},
      {"softcap", "--softcap"},
      {"window", "--window"},
      {"scale", "--scale"},
      {"sinks", "--sinks"},
      {"mask", "--mask"},
      {"bias", "--bias"},
      {"isa", "--isa"},
  };
  for (const auto& [name, option] : kNames) replace(name, option);
  return message;
}

std::uint64_t output_bytes(const AttendProblem& problem) {
  std::uint64_t bytes = 0;
  for (const io::NamedTensor& result : problem.results) {
    bytes += static_cast<std::uint64_t>(result.tensor.size()) * size_of(result.tensor.dtype);
  }
  return bytes;
}

Json plan_json(const PlanDescription& plan, const AttendProblem& problem) {
  return {{"kernel", plan.kernel},
          {"isa", name_of(plan.isa)},
          {"threads", plan.threads},
          {"tasks", plan.tasks},
          {"rows_per_tile", plan.rows_per_tile},
          {"input_bytes", problem.input_bytes},
          {"output_bytes", output_bytes(problem)},
          {"workspace_bytes", plan.workspace_bytes},
          {"weights_bytes", plan.weights_bytes}};
}

void print_plan(const PlanDescription& plan, const AttendProblem& problem) {
  const AttentionInputs& inputs = problem.inputs;
  fmt::print("query      {}\n", describe(inputs.query));
  fmt::print("key        {}\n", describe(inputs.key));
  fmt::print("value      {}\n", describe(inputs.value));
  for (const io::NamedTensor& result : problem.results) {
    fmt::print("{:<10} {}\n", result.name, describe(result.tensor));
  }
  fmt::print("kernel     {}\n", plan.kernel);
  fmt::print("threads    {} at most, for {} task{}\n", plan.threads, plan.tasks,
             plan.tasks == 1 ? "" : "s");
  fmt::print("memory     inputs {}, results {}, workspace {}\n", bytes_text(problem.input_bytes),
             bytes_text(output_bytes(problem)), bytes_text(plan.workspace_bytes));
  std::fflush(stdout);
}

// The plan, and how long it ran; 0 if it was only asked for.
struct Run {
  PlanDescription plan;
  double seconds = 0;
};

Run compute(const AttendRequest& request, const AttendProblem& problem,
            const std::atomic<bool>* cancel) {
  Progress progress("attend");
  ExecutionOptions execution;
  execution.threads = request.threads;
  execution.isa = request.isa;
  execution.cancel = cancel;
  execution.progress = progress.callback();
  Run run;
  try {
    AttentionPlan plan(problem.inputs, problem.outputs, problem.options, execution);
    run.plan = plan.description();
    if (request.explain && !request.json) print_plan(run.plan, problem);
    if (request.output.empty()) return run;
    const auto start = std::chrono::steady_clock::now();
    plan.run();
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } catch (const InvalidArgument& error) {
    throw usage(with_option_names(error.what()));
  } catch (const Unsupported& error) {
    throw usage(with_option_names(error.what()));
  }
  return run;
}

void print_result(const AttendRequest& request, const AttendProblem& problem, const Run& run) {
  std::string arrays;
  for (const io::NamedTensor& result : problem.results) {
    arrays +=
        fmt::format("{}{} {}", arrays.empty() ? "" : ", ", result.name, describe(result.tensor));
  }
  fmt::print("{}: {}; {:.3g} s, {}, {} thread{}\n", request.output, arrays, run.seconds,
             name_of(run.plan.isa), run.plan.threads, run.plan.threads == 1 ? "" : "s");
}

Json result_json(const AttendRequest& request, const AttendProblem& problem, double seconds) {
  Json arrays = Json::array();
  for (const io::NamedTensor& result : problem.results) {
    const TensorView& view = result.tensor;
    arrays.push_back({{"name", result.name},
                      {"dtype", name_of(view.dtype)},
                      {"shape", std::vector<std::int64_t>(view.extents.begin(),
                                                          view.extents.begin() + view.rank)}});
  }
  return {{"output", request.output}, {"arrays", arrays}, {"seconds", seconds}};
}

void print_json(const Json& json) {
  // A file name need not be UTF-8, but JSON must be.
  fmt::print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

int attend(int argc, const char* const* argv) {
  const AttendRequest request = parse_attend(argc, argv);
  check_output_file(request);
  AttendProblem problem = load_problem(request);
  check_output_is_no_input(request, problem);
  check_output_type(request, problem);

  const CancelScope cancel;
  const Run run = compute(request, problem, cancel.flag());
  Json json;
  if (!request.output.empty()) {
    io::WriteOptions options;
    options.overwrite = request.force;
    options.cancel = cancel.flag();
    check(io::write(request.output, problem.results, options));
    if (request.json) {
      json = result_json(request, problem, run.seconds);
    } else {
      print_result(request, problem, run);
    }
  }
  if (request.json) {
    json["plan"] = plan_json(run.plan, problem);
    print_json(json);
  }
  return kSuccess;
}

}  // namespace qkv::app
