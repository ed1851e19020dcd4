// qkv train: what it leaves in its folder, and that stopping, killing and resuming change nothing.
#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "character_text.h"
#include "plot.h"
#include "qkv/cpu.h"
#include "run_command.h"
#include "terminal.h"

namespace qkv::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Hashes of the weights of all runs in a folder.
std::map<std::string, std::size_t> weights_in(const std::string& folder) {
  std::map<std::string, std::size_t> weights;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".safetensors")) {
      weights[name] = std::hash<std::string>()(read_text(entry.path().string()));
    }
  }
  return weights;
}

TEST(Train, PointsLeavesReportWeightsCurvesAndPlots) {
  const Scratch scratch;
  const Result result = run(scratch, {"train", "points", "--steps", "3", "--out", "p"});
  expect_success(result);
  EXPECT_THAT(result.out, HasSubstr("of 10 runs ended with one near and one alike head"));
  const nlohmann::json report = parsed(read_text(scratch / "p/report.json"));
  EXPECT_EQ(report["runs"].size(), 10u);
  EXPECT_EQ(report["compared_with"].size(), 4u);
  EXPECT_EQ(report["runs"][3]["heads"].size(), 2u);
  EXPECT_THAT(read_text(scratch / "p/points.svg"), HasSubstr("</svg>"));
  EXPECT_EQ(weights_in(scratch / "p").size(), 14u);
  EXPECT_EQ(elements<float>(read_array(scratch / "p/seed-0.npz", "loss")).size(), 3u);
}

TEST(Train, TheOtherTrainingsRunToo) {
  const Scratch scratch;
  for (const std::string name : {"text", "saturation", "copy"}) {
    expect_success(run(scratch, {"train", name, "--steps", "2"}));
    const nlohmann::json report = parsed(read_text(scratch / (name + "/report.json")));
    EXPECT_EQ(report["training"], name);
    EXPECT_EQ(report["steps"], 2);
    EXPECT_THAT(read_text(scratch / (name + "/" + name + ".svg")), HasSubstr("</svg>"));
  }
}

TEST(Train, ThreadsAndIsaChangeNoBit) {
  const Scratch scratch;
  expect_success(run(scratch, {"train", "copy", "--steps", "3", "--out", "a", "--threads", "1"}));
  expect_success(run(scratch, {"train", "copy", "--steps", "3", "--out", "b", "--threads", "2"}));
  expect_success(
      run(scratch, {"train", "copy", "--steps", "3", "--out", "c", "--isa", "portable"}));
  EXPECT_EQ(weights_in(scratch / "a"), weights_in(scratch / "b"));
  EXPECT_EQ(weights_in(scratch / "a"), weights_in(scratch / "c"));
  expect_success(run(scratch, {"train", "copy", "--steps", "3", "--out", "d", "--seed", "1"}));
  EXPECT_NE(weights_in(scratch / "a"), weights_in(scratch / "d"));
}

// Stops a training after `delay` by the signal, then resumes it to the end.
std::map<std::string, std::size_t> stopped_and_resumed(const Scratch& scratch,
                                                       const std::string& folder, int signal,
                                                       Result& stopped) {
  Process process(scratch, {"train", "points", "--steps", "60", "--out", folder});
  EXPECT_TRUE(process.wait_for("seed-0"));
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  kill(process.pid(), signal);
  stopped = process.wait();
  expect_success(run(scratch, {"train", "points", "--steps", "60", "--out", folder, "--resume"}));
  return weights_in(scratch / folder);
}

TEST(Train, AStoppedOrKilledRunResumesToTheSameBits) {
  const Scratch scratch;
  expect_success(run(scratch, {"train", "points", "--steps", "60", "--out", "whole"}));
  const auto whole = weights_in(scratch / "whole");
  Result stopped;
  EXPECT_EQ(stopped_and_resumed(scratch, "stopped", SIGINT, stopped), whole);
  EXPECT_EQ(stopped.code, 130);
  EXPECT_THAT(stopped.err, HasSubstr("go on by the same command with --resume"));
  EXPECT_EQ(stopped_and_resumed(scratch, "killed", SIGKILL, stopped), whole);
  EXPECT_EQ(stopped.code, 128 + SIGKILL);
  EXPECT_EQ(parsed(read_text(scratch / "killed/report.json")),
            parsed(read_text(scratch / "whole/report.json")));
  const Result anew =
      run(scratch, {"train", "copy", "--steps", "1", "--out", "mistyped", "--resume"});
  expect_success(anew);
  EXPECT_THAT(anew.out, HasSubstr("nothing to go on with"));
  // Resuming what has ended trains nothing, and gives the same report.
  const Result again =
      run(scratch, {"train", "points", "--steps", "60", "--out", "whole", "--resume"});
  expect_success(again);
  EXPECT_THAT(again.out, HasSubstr("finished before"));
  EXPECT_EQ(weights_in(scratch / "whole"), whole);
}

TEST(Train, RefusesWhatDoesntFit) {
  const Scratch scratch;
  expect_success(run(scratch, {"train", "copy", "--steps", "1", "--out", "c"}));
  const auto before = weights_in(scratch / "c");
  expect_failure(run(scratch, {"train", "copy", "--steps", "1", "--out", "c"}), 4,
                 {"--out", "has files already", "--resume"});
  expect_failure(run(scratch, {"train", "copy", "--steps", "2", "--out", "c", "--resume"}), 2,
                 {"1 steps", "2 steps"});
  expect_failure(
      run(scratch, {"train", "copy", "--steps", "1", "--out", "c", "--seed", "7", "--resume"}), 2,
      {"seed"});
  EXPECT_EQ(weights_in(scratch / "c"), before);
  expect_failure(run(scratch, {"train"}), 2, {"NAME"});
  expect_failure(run(scratch, {"train", "pionts"}), 2, {"did you mean points?"});
  expect_failure(run(scratch, {"train", "points", "--steps", "0"}), 2, {"--steps", "1 to"});
  expect_failure(run(scratch, {"train", "points", "--seed", "-1"}), 2, {"--seed", "negative"});
  expect_failure(run(scratch, {"train", "points", "--text", "x"}), 2, {"--text"});
  expect_failure(run(scratch, {"train", "text", "--text", "none.txt"}), 4, {"none.txt"});
  expect_failure(run(scratch, {"train", "text", "--text", "c"}), 4, {"--text", "can't be read"});
  std::ofstream(scratch / "short.txt") << "too short";
  expect_failure(run(scratch, {"train", "text", "--text", "short.txt"}), 2, {"9 bytes"});
  std::ofstream(scratch / "file") << "x";
  expect_failure(run(scratch, {"train", "points", "--out", "file"}), 4, {"--out", "file"});
  EXPECT_THAT(scratch.names(), ElementsAre("c", "file", "short.txt"));
}

TEST(Train, AnyBytesAreAText) {
  const Scratch scratch;
  std::string text = "\xf0\x9f\x90\xa2\xc3";
  for (int n = 0; n < 5000; ++n) text += static_cast<char>(n * n % 256);
  std::ofstream(scratch / "bytes.txt", std::ios::binary) << text;
  const Result result =
      run(scratch, {"train", "text", "--text", "bytes.txt", "--steps", "1", "--out", "o\x1b[1m"});
  expect_success(result);
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  EXPECT_EQ(parsed(read_text(scratch / "o\x1b[1m/report.json"))["models"].size(), 2u);
  const std::string svg = read_text(scratch / "o\x1b[1m/text.svg");
  EXPECT_EQ(as_utf8(svg), svg);
}

TEST(Train, AFolderItCouldNotClaimIsFreeLater) {
  const Scratch scratch;
  std::filesystem::create_directory(scratch / "c");
  std::ofstream(scratch / "c/settings.txt.123.tmp") << "cop";  // killed while it wrote
  expect_success(run(scratch, {"train", "copy", "--steps", "1", "--out", "c"}));
}

TEST(Train, ResumingSeesWhatWasChanged) {
  const Scratch scratch;
  expect_success(run(scratch, {"train", "copy", "--steps", "2", "--out", "c"}));
  const std::string curves = scratch / "c/one-layer-seed-0.npz";
  const auto resume = [&] {
    return run(scratch, {"train", "copy", "--steps", "2", "--out", "c", "--resume"});
  };
  write_arrays(curves, {{"loss", tensor<float>({2}, {1, 2})}});
  const Result without = resume();  // says so after the run's own line
  EXPECT_EQ(without.code, 4);
  EXPECT_THAT(without.err, HasSubstr("no curve \"right\"; it was changed"));
  write_arrays(curves,
               {{"loss", tensor<float>({3}, {1, 2, 3})}, {"right", tensor<float>({1}, {1})}});
  expect_failure(resume(), 4, {"one-layer-seed-0.npz", "3 losses of 2 steps", "changed"});
  std::filesystem::remove(scratch / "c/one-layer-seed-0.safetensors");
  std::filesystem::create_symlink("one-layer-seed-0.safetensors",
                                  scratch / "c/one-layer-seed-0.safetensors");
  expect_failure(resume(), 4, {"one-layer-seed-0.safetensors", "can't be looked at"});
}

TEST(CharacterText, TrigramLossIsWittenAndBells) {
  // 4096 times "ab": after "ab" comes a, after "ba" b; a few first ones aside.
  std::string text;
  for (int n = 0; n < 4096; ++n) text += "ab";
  const CharacterText split = split_text(text, "test");
  EXPECT_EQ(split.characters, "ab");
  EXPECT_EQ(split.learn.size() + split.check.size(), text.size());
  // p(a) about 1/2, p(a|b) = (n + 1/2) / (n + 1), p(a|ab) = (n + p(a|b)) / (n + 1) with n = 3686.
  const double n = 3686, pair = (n + 0.5) / (n + 1), triple = (n + pair) / (n + 1);
  EXPECT_NEAR(trigram_loss(split), -std::log(triple), 1e-9);
}

TEST(Plot, IsOneSvgDocumentWithEscapedTexts) {
  LineChart chart{"a < b & c", "x", "y", {{"one", {1, 10, 100}, {1, 0.1, 0.01}}}};
  chart.log_x = chart.log_y = true;
  HeatMap map;
  map.rows = map.columns = 2;
  map.shares = {0, 1, 0.5, 2};
  const std::string svg = svg_page("heading", {chart, map, ScenePicture()}, 2);
  EXPECT_THAT(svg, HasSubstr("a &lt; b &amp; c"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

TEST(Plot, ANarrowLogarithmicAxisHasMarksToo) {
  LineChart chart{"title", "x", "y", {{"one", {0, 1}, {0.25, 0.43}}}};
  chart.log_y = true;
  const std::string svg = svg_page("heading", {chart}, 1);
  for (const char* mark : {">0.25</text>", ">0.3</text>", ">0.35</text>", ">0.4</text>"}) {
    EXPECT_THAT(svg, HasSubstr(mark));
  }
}

}  // namespace
}  // namespace qkv::app
