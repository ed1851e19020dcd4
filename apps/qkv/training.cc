#include "training.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "command.h"
#include "qkv/checkpoint.h"
#include "qkv/contract.h"
#include "terminal.h"

namespace qkv::app {
namespace {

constexpr std::chrono::seconds kCheckpointInterval{10};
constexpr const char* kBeside = ".tmp";  // ends the name of a text until it is whole

Tensor to_tensor(const std::vector<float>& numbers) {
  Tensor tensor;
  const auto size = static_cast<std::int64_t>(numbers.size());
  check(allocate(DType::kFloat32, std::span(&size, 1), tensor));
  std::copy(numbers.begin(), numbers.end(), tensor.data<float>());
  return tensor;
}

std::vector<float> to_numbers(const std::string& file, const std::string& name,
                              const Tensor& tensor) {
  if (tensor.dtype() != DType::kFloat32 || tensor.rank() != 1) {
    throw Failure(kFileTrouble, file + ": \"" + name + "\" is " + describe(tensor) +
                                    ", no list of float32; start anew in another folder");
  }
  return {tensor.data<float>(), tensor.data<float>() + tensor.size()};
}

bool exists(const std::string& file) {
  std::error_code error;
  const bool found = std::filesystem::exists(file, error);
  if (!error) return found;
  throw Failure(kFileTrouble, in_quotes(file) + ": can't be looked at (" + error.message() +
                                  "); pass another --out");
}

// Has a resumed run as many losses as steps?
void check_losses(const std::string& file, Curves& curves, std::int64_t steps, std::int64_t most) {
  const auto losses = static_cast<std::int64_t>(curves["loss"].size());
  if (losses == steps && steps <= most) return;
  throw Failure(kFileTrouble,
                fmt::format("{}: {} losses of {} steps in a run of {}; it was changed, so start "
                            "anew in another folder",
                            in_quotes(file), losses, steps, most));
}

Failure mismatch(const std::string& place, const std::string& found, const std::string& wanted) {
  return usage("--resume: " + in_quotes(place) + " is of " +
               (found.empty() ? "another program" : in_quotes(found)) + ", not of " +
               in_quotes(wanted) + "; pass its settings, or another --out");
}

std::string minutes(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

TrainingFolder::TrainingFolder(const TrainRequest& request, std::vector<PlannedRun> runs)
    : request_(request), runs_(std::move(runs)), terminal_(::isatty(STDERR_FILENO) != 0) {
  std::error_code error;
  std::filesystem::create_directories(request_.out, error);
  if (error || !std::filesystem::is_directory(request_.out)) {
    throw Failure(kFileTrouble, "--out: " + in_quotes(request_.out) + " can't be a folder (" +
                                    (error ? error.message() : "a file has this name") +
                                    "); pass another");
  }
  claim();
}

std::string TrainingFolder::settings() const {
  const std::int64_t steps = runs_.empty() ? 0 : runs_.front().steps;
  return fmt::format("{}, seed {}, {} steps, {}arithmetic contract {}", request_.name,
                     request_.seed, steps, request_.data.empty() ? "" : request_.data + ", ",
                     contract().version);
}

std::string TrainingFolder::identity(const PlannedRun& run) const {
  return run.name + " of " + settings();
}

// A folder belongs to one training, from its first file on.
void TrainingFolder::claim() const {
  const std::string file = path("settings.txt");
  std::error_code error;
  std::string other;
  std::filesystem::directory_iterator entry(request_.out, error);
  for (const std::filesystem::directory_iterator end; !error && entry != end;
       entry.increment(error)) {
    other = entry->path().filename().string();
    // Of a run that was killed before it had claimed the folder.
    if (!other.starts_with("settings.txt.") || !other.ends_with(kBeside)) break;
    other.clear();
  }
  if (error) {
    throw Failure(kFileTrouble, "--out: " + in_quotes(request_.out) + " can't be read (" +
                                    error.message() + "); pass another");
  }
  if (other.empty()) {
    write_text("settings.txt", settings() + "\n");
    if (request_.resume) {
      fmt::print("{} has nothing to go on with: a new training begins\n", in_quotes(request_.out));
    }
    return;
  }
  if (!request_.resume) {
    throw Failure(kFileTrouble, "--out: " + in_quotes(request_.out) +
                                    " has files already, such as " + in_quotes(other) +
                                    "; go on with them by --resume, or pass an empty folder");
  }
  std::ifstream stream(file);
  std::string found;
  std::getline(stream, found);
  if (found == settings()) return;
  throw mismatch(request_.out, found, settings());
}

bool TrainingFolder::finished(const PlannedRun& run, Trainable& model, Curves& curves) const {
  const std::string weights = path(run.name + ".safetensors"), numbers = path(run.name + ".npz");
  if (!exists(weights)) return false;
  io::Reader reader;
  check(io::Reader::open(weights, reader));
  const auto found = reader.metadata().find("training");
  if (found == reader.metadata().end() || found->second != identity(run)) {
    throw mismatch(weights, found == reader.metadata().end() ? "" : found->second, identity(run));
  }
  check(nn::load_parameters(weights, model.parameters()));
  io::Reader archive;
  check(io::Reader::open(numbers, archive));
  for (const io::ArrayInfo& array : archive.arrays()) {
    Tensor tensor;
    check(archive.read(array.name, tensor));
    curves[array.name] = to_numbers(numbers, array.name, tensor);
  }
  check_losses(numbers, curves, run.steps, run.steps);
  return true;
}

void TrainingFolder::begin(const PlannedRun& run, Trainable& model, Curves& curves) const {
  const std::string file = path(run.name + ".checkpoint.safetensors");
  if (!exists(file)) return;
  nn::TrainingState state;
  check(nn::load_checkpoint(file, model.parameters(), model.optimizer(), state));
  if (state.metadata["training"] != identity(run)) {
    throw mismatch(file, state.metadata["training"], identity(run));
  }
  for (const auto& [name, tensor] : state.tensors) curves[name] = to_numbers(file, name, tensor);
  check_losses(file, curves, model.optimizer().steps(), run.steps);
}

void TrainingFolder::save_checkpoint(const PlannedRun& run, Trainable& model,
                                     const Curves& curves) const {
  nn::TrainingState state;
  state.metadata["training"] = identity(run);
  for (const auto& [name, numbers] : curves) {
    if (!numbers.empty()) state.tensors[name] = to_tensor(numbers);
  }
  check(nn::save_checkpoint(path(run.name + ".checkpoint.safetensors"), model.parameters(),
                            model.optimizer(), state));
}

void TrainingFolder::finish(const PlannedRun& run, Trainable& model, const Curves& curves) const {
  io::WriteOptions options;
  options.overwrite = true;
  std::vector<Tensor> kept;
  std::vector<io::NamedTensor> arrays;
  for (const auto& [name, numbers] : curves) {
    kept.push_back(to_tensor(numbers));
    arrays.push_back({name, kept.back()});
  }
  check(io::write(path(run.name + ".npz"), arrays, options));
  // Last, since these say that the run has ended.
  options.metadata["training"] = identity(run);
  check(nn::save_parameters(path(run.name + ".safetensors"), model.parameters(), options));
  std::error_code ignored;
  std::filesystem::remove(path(run.name + ".checkpoint.safetensors"), ignored);
}

Failure TrainingFolder::interrupted(const PlannedRun& run, Trainable& model,
                                    const Curves& curves) const {
  std::string next = "go on by the same command with --resume";
  try {
    save_checkpoint(run, model, curves);
  } catch (const std::exception& error) {
    next = std::string("its checkpoint could not be saved: ") + error.what();
  }
  if (terminal_) (void)std::fputs("\r\x1b[K", stderr);
  return {interrupt_exit_code(), fmt::format("interrupted at step {} of {}; {}",
                                             model.optimizer().steps(), run.name, next)};
}

void TrainingFolder::show_progress(const PlannedRun& run, std::int64_t step, float loss) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || now < shown_ + std::chrono::milliseconds(200)) return;
  shown_ = now;
  double left = static_cast<double>((run.steps - step) * run.tokens) * run.work;
  for (std::size_t n = next_ + 1; n < runs_.size(); ++n) {
    left += static_cast<double>(runs_[n].steps * runs_[n].tokens) * runs_[n].work;
  }
  const std::string line = fmt::format(
      "\r\x1b[K{} {} of {} ({})  step {} of {}  loss {:.3f}  {:.0f} tokens/s  {} left",
      request_.name, next_ + 1, runs_.size(), run.name, step, run.steps, loss,
      seconds_ > 0 ? tokens_ / seconds_ : 0.0, work_ > 0 ? minutes(left * seconds_ / work_) : "?");
  (void)std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

Curves TrainingFolder::train(Trainable& model) {
  const PlannedRun& run = runs_.at(next_);
  Curves curves;
  check(model.parameters().status());
  const auto report = [&](const std::string& how) {
    if (terminal_) (void)std::fputs("\r\x1b[K", stderr);
    fmt::print("{:<22} loss {:<9} {}\n", run.name, short_number(mean_of_last(curves["loss"], 50)),
               how);
    std::fflush(stdout);
    ++next_;
    return curves;
  };
  if (request_.resume && finished(run, model, curves)) return report("(finished before)");
  if (request_.resume) begin(run, model, curves);
  std::fflush(stdout);  // of the run before, so that no message comes in front of it
  const Clock::time_point start = Clock::now();
  Clock::time_point saved = start;
  const double seconds_before = seconds_;
  const std::int64_t first = model.optimizer().steps();
  while (model.optimizer().steps() < run.steps) {
    model.step(curves);
    const Clock::time_point now = Clock::now();
    seconds_ = seconds_before + std::chrono::duration<double>(now - start).count();
    work_ += static_cast<double>(run.tokens) * run.work;
    tokens_ += static_cast<double>(run.tokens);
    show_progress(run, model.optimizer().steps(), curves["loss"].back());
    const bool stop = cancel_.flag()->load();
    if (!stop && now < saved + kCheckpointInterval) continue;
    if (model.optimizer().steps() == run.steps && !stop) break;
    if (stop) throw interrupted(run, model, curves);
    save_checkpoint(run, model, curves);
    saved = now;
  }
  finish(run, model, curves);
  const double seconds = seconds_ - seconds_before;
  const auto tokens = static_cast<double>((run.steps - first) * run.tokens);
  return report(fmt::format("{} steps in {:.1f} s, {:.0f} tokens/s", run.steps - first, seconds,
                            seconds > 0 ? tokens / seconds : 0.0));
}

void TrainingFolder::write_text(const std::string& name, const std::string& text) const {
  // Two runs in one folder write the same text, each in a file of its own.
  const std::string target = path(name),
                    beside = fmt::format("{}.{}{}", target, ::getpid(), kBeside);
  std::FILE* const file = std::fopen(beside.c_str(), "wb");
  const bool written =
      file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  const bool whole = written && closed && std::rename(beside.c_str(), target.c_str()) == 0;
  const std::string why = std::strerror(errno);
  if (whole) return;
  std::error_code ignored;
  if (file != nullptr) std::filesystem::remove(beside, ignored);
  throw Failure(kFileTrouble, in_quotes(target) + ": can't be written (" + why +
                                  "); free space, or pass another --out");
}

void TrainingFolder::write_report(const Json& report) const {
  write_text("report.json", report.dump(2) + "\n");
  fmt::print("\nIn {}: report.json, weights (*.safetensors), curves (*.npz), plots (*.svg)\n",
             in_quotes(request_.out));
}

const std::vector<float>& curve_of(const Curves& curves, const std::string& name) {
  const auto found = curves.find(name);
  if (found != curves.end() && !found->second.empty()) return found->second;
  throw Failure(kFileTrouble, "--resume: the folder has no curve " + in_quotes(name) +
                                  "; it was changed, so start anew in another one");
}

std::string short_number(double number) { return fmt::format("{:.4g}", number); }

double mean_of_last(const std::vector<float>& numbers, std::size_t count) {
  const std::size_t used = std::min(count, numbers.size());
  double sum = 0;
  for (std::size_t n = numbers.size() - used; n < numbers.size(); ++n) {
    sum += static_cast<double>(numbers[n]);
  }
  return used == 0 ? 0 : sum / static_cast<double>(used);
}

}  // namespace qkv::app
