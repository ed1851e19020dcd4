// qkv train: small trainings that show what the lesson says.
#include <CLI/CLI.hpp>
#include <array>

#include "command.h"
#include "numbers.h"
#include "terminal.h"
#include "training.h"

namespace qkv::app {
namespace {

constexpr const char* kDescription =
    "Trains small models in this program alone, each in less than 3 minutes on 2 cores, and\n"
    "reports what they learned: numbers in report.json, weights, curves and plots.\n"
    "  points      point clouds: two heads specialise in near and in alike points, or don't\n"
    "  text        characters of a book: with and without positions, heads that copy\n"
    "  saturation  scores divided by sqrt(d_k) and not, for d_k from 16 to 512\n"
    "  copy        an induction task that one layer can't learn and two can\n"
    "The weights are the same on every machine, with any number of threads, and if the run was\n"
    "stopped and resumed. Ctrl-C saves a checkpoint first; a killed run loses what it did since\n"
    "the last one, 10 seconds at most.";

constexpr const char* kExamples =
    "  qkv train points --out points\n"
    "  qkv train text --out text --steps 200\n"
    "  qkv train text --text my_book.txt --out book\n"
    "  qkv train copy --out copy --resume";

struct Training {
  const char* name;
  void (*run)(const TrainRequest& request);
};

constexpr std::array<Training, 4> kTrainings = {{{"points", train_points},
                                                 {"text", train_text},
                                                 {"saturation", train_saturation},
                                                 {"copy", train_copy}}};

}  // namespace

int train(int argc, const char* const* argv) {
  TrainRequest request;
  std::string steps, seed = "0", threads = "0", isa;
  CLI::App app{kDescription, "qkv train"};
  app.add_option("NAME", request.name, "points, text, saturation or copy")->required();
  const auto add = [&app](const char* name, std::string& value, const char* what,
                          const char* help) {
    return app.add_option(name, value, help)->option_text(what);
  };
  add("-o,--out", request.out, "DIR", "The folder of the results, empty or new; default: NAME");
  add("--steps", steps, "N", "Steps of each run; default: what the training needs");
  add("--seed", seed, "N", "The first seed; default 0");
  app.add_flag("--resume", request.resume,
               "Go on with what is in the folder, with the same --steps and --seed")
      ->disable_flag_override();
  add("--text", request.text, "FILE", "What `text` learns, instead of the built-in book");
  add("--threads", threads, "N", "Threads at most; 0 (default): all");
  add("--isa", isa, "NAME", "Instruction set, see `qkv info`");
  parse_options(app, kExamples, argc, argv);

  if (!steps.empty()) {
    request.steps = parse_integer("--steps", steps);
    if (request.steps < 1 || request.steps > 10'000'000) {
      throw usage("--steps: " + steps + " is out of range; pass 1 to 10,000,000");
    }
  }
  const std::int64_t first_seed = parse_integer("--seed", seed);
  if (first_seed < 0) throw usage("--seed: " + seed + " is negative; pass 0 or more");
  request.seed = static_cast<std::uint64_t>(first_seed);
  request.execution.threads = parse_threads(threads);
  if (!isa.empty()) request.execution.isa = parse_isa(isa);
  if (!request.text.empty() && request.name != "text") {
    throw usage("--text: only the training text reads a file; leave it out");
  }
  if (request.out.empty()) request.out = request.name;
  std::vector<std::string> names;
  for (const Training& training : kTrainings) {
    if (request.name == training.name) {
      training.run(request);
      return kSuccess;
    }
    names.emplace_back(training.name);
  }
  const std::string meant = nearest(request.name, names);
  throw usage(
      "NAME: no training " + in_quotes(request.name) + "; " +
      (meant.empty() ? "pass points, text, saturation or copy" : "did you mean " + meant + "?"));
}

}  // namespace qkv::app
