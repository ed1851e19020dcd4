#include "qkv/state.h"

#include <string>

#include "api/callbacks.h"
#include "api/serialized_states.h"
#include "plan/states.h"
#include "simd/float_environment.h"

namespace qkv {

struct State::Impl {
  States states;
};

State::State() : impl_(std::make_unique<Impl>()) {}
State::~State() = default;
State::State(const State& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
State::State(State&&) noexcept = default;
State& State::operator=(const State& other) {
  impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
State& State::operator=(State&&) noexcept = default;

State State::of(const AttentionInputs& inputs, std::int64_t first_key,
                const AttentionOptions& options, const ExecutionOptions& execution) {
  const FloatEnvironment environment;
  const std::int64_t span = contract().span;
  if (first_key < 0 || first_key % span != 0) {
    throw InvalidArgument("first_key: " + std::to_string(first_key) +
                          " is not on a span edge; pass a multiple of " + std::to_string(span));
  }
  if (first_key > kMaxPosition) {
    throw InvalidArgument("first_key: " + std::to_string(first_key) +
                          " is out of range; pass at most 2^61");
  }
  if (!options.query_cu_seqlens.empty() || !options.query_lengths.empty()) {
    throw Unsupported(
        "query_cu_seqlens, query_lengths: a state has one length of queries; make a state for each "
        "sequence");
  }
  if (!options.sinks.empty()) {
    throw InvalidArgument("sinks: they join once, at the end; pass them to finish()");
  }
  Problem problem;
  problem.inputs = inputs;
  problem.options = options;
  problem.first_key = first_key;
  throw_if_error(validate(problem));
  if (problem.is_float64()) {
    throw Unsupported("query: float64 inputs have no states; convert them to float32");
  }
  CallbackGuard callbacks;
  callbacks.wrap(problem.options);
  ExecutionOptions guarded = execution;
  callbacks.wrap(guarded);
  State state;
  const Status status = compute_states(problem, guarded, callbacks.stop(), state.impl_->states);
  callbacks.rethrow();
  throw_if_error(status);
  return state;
}

std::int64_t State::first_key() const { return impl_->states.first_key; }
std::int64_t State::end_key() const { return impl_->states.end_key; }

void State::merge(const State& other) {
  States& mine = impl_->states;
  const States& theirs = other.impl_->states;
  if (mine.rows() != theirs.rows() || mine.d_v != theirs.d_v || mine.heads != theirs.heads ||
      mine.batch != theirs.batch) {
    const auto shape = [](const States& s) {
      return "[" + std::to_string(s.batch) + ", " + std::to_string(s.heads) + ", " +
             std::to_string(s.queries) + ", " + std::to_string(s.d_v) + "]";
    };
    throw InvalidArgument("other: its rows " + shape(theirs) + " are not those of this state, " +
                          shape(mine) + "; merge states of the same queries");
  }
  const bool after = theirs.first_key == mine.end_key;
  if (!after && theirs.end_key != mine.first_key) {
    throw InvalidArgument("other: its keys " + std::to_string(theirs.first_key) + " to " +
                          std::to_string(theirs.end_key) +
                          " do not lie right beside this state's " +
                          std::to_string(mine.first_key) + " to " + std::to_string(mine.end_key) +
                          "; merge neighbours that meet on a span edge");
  }
  if (after) {
    throw_if_error(merge_states(mine, theirs));
    return;
  }
  States left = theirs;
  throw_if_error(merge_states(left, mine));
  mine = std::move(left);
}

void State::finish(const AttentionOutputs& outputs, std::span<const float> sinks) const {
  throw_if_error(finish_states(impl_->states, outputs, sinks));
}

std::vector<std::byte> State::serialize() const { return serialize_states(impl_->states); }

State State::deserialize(std::span<const std::byte> bytes) {
  State state;
  throw_if_error(deserialize_states(bytes, state.impl_->states));
  return state;
}

}  // namespace qkv
