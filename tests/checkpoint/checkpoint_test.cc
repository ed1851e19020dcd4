// Saving what was learned, and going on with it as if nothing had happened.
#include "qkv/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace qkv::nn {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Checkpoint : public testing::Test {
 protected:
  Checkpoint() {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("checkpoint_" + std::to_string(getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Checkpoint() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// A small model with an optimiser; step t is a function of t alone.
struct Training {
  explicit Training(std::int64_t hidden = 16, bool sgd = false)
      : rng(5),
        embedding(parameters, "embedding", 10, 8, rng, 1.0),
        block(parameters, "block", {8, 2}, hidden, rng),
        out(parameters, "out", 8, 10, rng) {
    if (sgd)
      optimizer = std::make_unique<Sgd>(parameters, 0.9f);
    else
      optimizer = std::make_unique<AdamW>(parameters);
  }

  void step() {
    random::Generator batch(static_cast<std::uint64_t>(optimizer->steps()));
    std::vector<std::int64_t> ids(12), targets(12);
    batch.integers(ids, 0, 10);
    for (std::size_t n = 0; n < 12; ++n) targets[n] = (ids[n] + 3) % 10;
    tape.clear();
    MultiHeadAttention::Extras extras;
    extras.options.causal = true;
    const std::int64_t shape[] = {3, 4};
    const Var x = block(tape, embedding(tape, ids, shape), extras);
    const Var loss = tape.cross_entropy(out(tape, x), targets);
    parameters.clear_gradients();
    tape.backward(loss);
    clip_gradients(parameters, 1);
    optimizer->step(cosine_schedule(optimizer->steps(), 5, 40, 0.01f));
  }

  std::vector<float> numbers() const {
    std::vector<float> all;
    for (const Parameter& p : parameters.all()) {
      all.insert(all.end(), p.value.data<float>(), p.value.data<float>() + p.value.size());
    }
    return all;
  }

  Parameters parameters;
  random::Generator rng;
  Embedding embedding;
  Block block;
  Linear out;
  std::unique_ptr<Optimizer> optimizer;
  Tape tape;
};

Tensor zeros(std::int64_t size) {
  Tensor tensor;
  EXPECT_TRUE(allocate(DType::kFloat32, std::span(&size, 1), tensor).ok());
  return tensor;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

std::string read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

TEST_F(Checkpoint, ParametersComeBackAsTheyWere) {
  Training saved;
  for (int n = 0; n < 3; ++n) saved.step();
  ASSERT_TRUE(save_parameters(path("model.safetensors"), saved.parameters).ok());
  Training loaded;
  ASSERT_FALSE(same_bits(loaded.numbers(), saved.numbers()));
  const Status status = load_parameters(path("model.safetensors"), loaded.parameters);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(same_bits(loaded.numbers(), saved.numbers()));
  // Another program finds the names as the model gave them.
  io::Reader reader;
  ASSERT_TRUE(io::Reader::open(path("model.safetensors"), reader).ok());
  EXPECT_EQ(reader.arrays()[0].name, "embedding.weight");
  EXPECT_EQ(reader.arrays()[0].dtype, "F32");
}

TEST_F(Checkpoint, ResumedTrainingHasTheBitsOfAnUnbrokenOne) {
  for (const bool sgd : {false, true}) {
    Training unbroken(16, sgd);
    for (int n = 0; n < 40; ++n) unbroken.step();
    Training first(16, sgd);
    for (int n = 0; n < 17; ++n) first.step();
    TrainingState state;
    state.metadata["training"] = "test";
    state.tensors["losses"] = zeros(2);
    state.tensors["losses"].data<float>()[1] = 2.5f;
    const std::string file = path("checkpoint.safetensors");
    ASSERT_TRUE(save_checkpoint(file, first.parameters, *first.optimizer, state).ok());
    Training second(16, sgd);
    TrainingState back;
    const Status status = load_checkpoint(file, second.parameters, *second.optimizer, back);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(second.optimizer->steps(), 17);
    EXPECT_EQ(back.metadata, state.metadata);
    EXPECT_EQ(back.tensors.at("losses").data<float>()[1], 2.5f);
    while (second.optimizer->steps() < 40) second.step();
    EXPECT_TRUE(same_bits(second.numbers(), unbroken.numbers())) << (sgd ? "SGD" : "AdamW");
  }
}

TEST_F(Checkpoint, FilesThatDontFitChangeNothing) {
  Training small, large(32);
  const std::string model = path("model.safetensors"), whole = path("checkpoint.safetensors");
  ASSERT_TRUE(save_parameters(model, small.parameters).ok());
  ASSERT_TRUE(save_checkpoint(whole, small.parameters, *small.optimizer).ok());
  const std::vector<float> before = large.numbers();
  TrainingState state;

  Status s = load_parameters(model, large.parameters);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(s.message(),
              AllOf(HasSubstr("block.mlp.up.weight"), HasSubstr("[16, 8]"), HasSubstr("[32, 8]")));
  s = load_checkpoint(whole, large.parameters, *large.optimizer, state);
  EXPECT_THAT(s.message(), HasSubstr("parameter.block.mlp.up.weight"));
  s = load_checkpoint(model, large.parameters, *large.optimizer, state);
  EXPECT_THAT(s.message(), HasSubstr("is no checkpoint"));
  s = load_parameters(whole, large.parameters);
  EXPECT_THAT(s.message(), HasSubstr("has no tensor \"embedding.weight\""));
  s = load_parameters(path("none.safetensors"), large.parameters);
  EXPECT_EQ(s.code(), StatusCode::kFileError);
  EXPECT_TRUE(same_bits(large.numbers(), before));
  EXPECT_EQ(large.optimizer->steps(), 0);

  // A tensor too many.
  Parameters one;
  const std::int64_t shape[] = {10, 8};
  one.add("embedding.weight", shape, false);
  s = load_parameters(model, one);
  EXPECT_THAT(s.message(), HasSubstr("which the model has not"));

  // Cut short.
  const std::string bytes = read_file(whole);
  std::ofstream(path("cut.safetensors"), std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size() / 2));
  s = load_checkpoint(path("cut.safetensors"), small.parameters, *small.optimizer, state);
  EXPECT_EQ(s.code(), StatusCode::kFileError);

  s = save_parameters(model, large.parameters);
  EXPECT_EQ(s.code(), StatusCode::kFileError) << "an existing file was replaced without a word";
}

// A process that saves without end is killed at many moments; the file is whole each time.
TEST_F(Checkpoint, AKilledRunKeepsItsLastCheckpoint) {
  const std::string file = path("checkpoint.safetensors");
  int whole = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Training training;
      TrainingState state;
      // Large enough that writing takes a while.
      state.tensors["ballast"] = zeros(1 << 20);
      for (std::int64_t n = 1;; ++n) {
        training.optimizer->set_steps(n);
        for (Parameter& p : training.parameters.all()) {
          std::fill_n(p.value.data<float>(), p.value.size(), static_cast<float>(n));
        }
        if (!save_checkpoint(file, training.parameters, *training.optimizer, state).ok()) _exit(1);
      }
    }
    usleep(static_cast<useconds_t>(20000 + round * 3571));
    kill(child, SIGKILL);
    int how = 0;
    waitpid(child, &how, 0);
    ASSERT_TRUE(WIFSIGNALED(how)) << "the child could not save";
    if (!std::filesystem::exists(file)) continue;  // killed before its first
    Training back;
    TrainingState state;
    const Status status = load_checkpoint(file, back.parameters, *back.optimizer, state);
    ASSERT_TRUE(status.ok()) << status.message();
    for (float number : back.numbers()) {
      ASSERT_EQ(number, static_cast<float>(back.optimizer->steps()));
    }
    ++whole;
  }
  EXPECT_GT(whole, 0);
}

}  // namespace
}  // namespace qkv::nn
