// How `qkv train` trains: one folder of results, runs one after the other, checkpoints, progress.
#ifndef QKV_APPS_QKV_TRAINING_H_
#define QKV_APPS_QKV_TRAINING_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "command.h"
#include "interrupt.h"
#include "qkv/nn.h"
#include "qkv/options.h"

namespace qkv::app {

using Json = nlohmann::ordered_json;

struct TrainRequest {
  std::string name;        // "points"
  std::string out;         // the folder
  std::int64_t steps = 0;  // of each run; 0: the training's own
  std::uint64_t seed = 0;
  bool resume = false;
  std::string data;  // a fingerprint of what it learns, if that is not built in
  std::string text;  // of the training "text"; empty: the built-in one
  ExecutionOptions execution;
};

// What a run has measured, by name: numbers in the order they came.
using Curves = std::map<std::string, std::vector<float>>;
// One of them. Throws a Failure if a resumed run has none of that name.
const std::vector<float>& curve_of(const Curves& curves, const std::string& name);

// A model that learns. Step n must be a function of n and of what was learned before, and of
// nothing else, so that a run can go on from a checkpoint.
class Trainable {
 public:
  virtual ~Trainable() = default;
  virtual nn::Parameters& parameters() = 0;
  virtual nn::Optimizer& optimizer() = 0;
  // One step. Appends to `curves`: "loss" each time.
  virtual void step(Curves& curves) = 0;
};

// A run to come: what the time left is computed from.
struct PlannedRun {
  std::string name;  // of its files: "seed-3"
  std::int64_t steps;
  std::int64_t tokens;  // of a step
  double work = 1;      // of a token, beside those of other runs
};

// The folder of a training: "settings.txt" says of which; for every run "<name>.safetensors" (the
// weights) and "<name>.npz" (the curves) when it has ended, "<name>.checkpoint.safetensors" before;
// "report.json" and plots.
class TrainingFolder {
 public:
  // Makes the folder. Throws a Failure if it has files of a training and `resume` is not set, or if
  // those are of another training, seed or number of steps.
  TrainingFolder(const TrainRequest& request, std::vector<PlannedRun> runs);

  // Trains to the end, from where the folder is: the next one of the planned runs. With Ctrl-C
  // saves a checkpoint and throws a Failure.
  Curves train(Trainable& model);

  void write_text(const std::string& name, const std::string& text) const;
  void write_report(const Json& report) const;
  std::string path(const std::string& name) const { return request_.out + "/" + name; }

 private:
  using Clock = std::chrono::steady_clock;

  bool finished(const PlannedRun& run, Trainable& model, Curves& curves) const;
  void begin(const PlannedRun& run, Trainable& model, Curves& curves) const;
  void save_checkpoint(const PlannedRun& run, Trainable& model, const Curves& curves) const;
  void finish(const PlannedRun& run, Trainable& model, const Curves& curves) const;
  // Saves what there is; what to tell whoever stopped the run.
  Failure interrupted(const PlannedRun& run, Trainable& model, const Curves& curves) const;
  void show_progress(const PlannedRun& run, std::int64_t step, float loss);
  std::string settings() const;  // of the training: what must agree to go on with it
  std::string identity(const PlannedRun& run) const;
  void claim() const;

  TrainRequest request_;
  std::vector<PlannedRun> runs_;
  std::size_t next_ = 0;
  CancelScope cancel_;
  bool terminal_;
  Clock::time_point shown_{};  // when progress was shown last
  // What was trained in this process, for speed and the time left.
  double seconds_ = 0, work_ = 0, tokens_ = 0;
};

// The trainings. Each fills the folder and prints what it found.
void train_points(const TrainRequest& request);
void train_text(const TrainRequest& request);
void train_saturation(const TrainRequest& request);
void train_copy(const TrainRequest& request);

// "0.031"; numbers in tables and reports.
std::string short_number(double number);
double mean_of_last(const std::vector<float>& numbers, std::size_t count);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_TRAINING_H_
