#include "qkv/state.h"

#include "api/callbacks.h"
#include "plan/serialized_states.h"
#include "plan/states.h"

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
  CallbackGuard callbacks;
  AttentionOptions guarded_options = options;
  ExecutionOptions guarded_execution = execution;
  callbacks.wrap(guarded_options);
  callbacks.wrap(guarded_execution);
  State state;
  const Status status = compute_states(inputs, first_key, guarded_options, guarded_execution,
                                       callbacks.stop(), state.impl_->states);
  callbacks.rethrow();
  throw_if_error(status);
  return state;
}

std::int64_t State::first_key() const { return impl_->states.first_key; }
std::int64_t State::end_key() const { return impl_->states.end_key; }

void State::merge(const State& other) {
  throw_if_error(merge_states(impl_->states, other.impl_->states));
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
