#include "support/ways.h"

#include <algorithm>

#include "qkv/random.h"
#include "qkv/state.h"

namespace qkv::test {
namespace {

struct Call {
  AttentionInputs inputs;
  AttentionOutputs outputs;
  AttentionOptions options;
};

// Rows [begin, end) of sequence s as a problem of their own, against the keys [first_key, end_key)
// only. Live rows and dead rows don't mix.
Call part_of(const Problem& p, const Sequence& s, std::int64_t begin, std::int64_t end,
             KeyRange keys) {
  const auto rows = [&](auto view) {
    return view.slice(0, s.buffer, s.buffer + 1)
        .slice(2, s.query_begin + begin, s.query_begin + end);
  };
  const auto columns = [&](auto view, int axis) {
    return view.slice(axis, s.key_row(keys.begin), s.key_row(keys.end));
  };
  Call call;
  call.inputs.query = rows(p.query);
  call.inputs.key = columns(p.key.slice(0, s.buffer, s.buffer + 1), 2);
  call.inputs.value = columns(p.value.slice(0, s.buffer, s.buffer + 1), 2);
  if (p.out.defined()) call.outputs.out = rows(p.out);
  const std::pair<const MutableTensorView*, MutableTensorView*> numbers[] = {
      {&p.lse, &call.outputs.lse},
      {&p.row_max, &call.outputs.row_max},
      {&p.row_sum, &call.outputs.row_sum}};
  for (const auto& [from, to] : numbers) {
    if (!from->defined()) continue;
    *to = rows(*from);
    to->rank = 3;
  }
  AttentionOptions& o = call.options;
  o = p.options;
  o.key_begin.clear();
  o.key_lengths.clear();
  o.query_lengths.clear();
  o.query_cu_seqlens.clear();
  o.key_cu_seqlens.clear();
  o.query_offset = {s.offset + begin};
  o.mask = o.bias = TensorView();
  if (p.mask.defined()) o.mask = columns(rows(p.mask), 3);
  if (p.bias.defined()) o.bias = columns(rows(p.bias), 3);
  if (o.dropout) o.dropout->streams = {p.dropout_stream(s)};
  // The sequence keeps its number in the eyes of callbacks.
  const std::int64_t index = s.index;
  if (p.options.score_mod) {
    o.score_mod = [index, f = p.options.score_mod](ScoreTile tile) {
      tile.batch += index;
      f(tile);
    };
  }
  if (p.options.mask_mod) {
    o.mask_mod = [index, f = p.options.mask_mod](MaskTile tile) {
      tile.batch += index;
      f(tile);
    };
  }
  if (p.options.block_predicate) {
    o.block_predicate = [index, f = p.options.block_predicate](MaskBlock block) {
      block.batch += index;
      return f(block);
    };
  }
  return call;
}

class Runner {
 public:
  Runner(const Problem& p, const ExecutionOptions& execution, CallerMode mode, std::uint64_t seed)
      : p_(p), execution_(execution), mode_(mode), generator_(seed) {}

  bool unchanged() const { return unchanged_; }

  void run(const Call& call) {
    const CallerEnvironment environment(mode_);
    attention(call.inputs, call.outputs, call.options, execution_);
    unchanged_ = unchanged_ && environment.unchanged();
  }

  void sequence(const Sequence& s, Way way) {
    const KeyRange all{s.first_key, s.end_key};
    for (std::int64_t begin = 0; begin < s.queries;) {
      std::int64_t rows = s.queries;
      if (way == Way::kChunks) rows = 1 + generator_.integers(0, s.queries);
      if (way == Way::kRows) rows = 1;
      const std::int64_t end = std::min(begin + rows, s.queries);
      const Call call = part_of(p_, s, begin, end, all);
      if (way == Way::kStates) {
        states(s, call, begin, end);
      } else {
        run(call);
      }
      begin = end;
    }
    if (s.queries < s.query_rows) {
      Call dead = part_of(p_, s, s.queries, s.query_rows, all);
      dead.options.query_lengths = {0};
      run(dead);
    }
  }

 private:
  void states(const Sequence& s, const Call& whole, std::int64_t begin, std::int64_t end) {
    const std::int64_t span = contract().span;
    std::vector<State> pieces;
    for (std::int64_t first = 0; first < std::max<std::int64_t>(s.end_key, 1);) {
      const std::int64_t spans = 1 + generator_.integers(0, 3);
      const std::int64_t last = std::min(first + spans * span, s.end_key);
      Call call = part_of(p_, s, begin, end, {first, last});
      call.options.sinks.clear();
      const CallerEnvironment environment(mode_);
      pieces.push_back(State::of(call.inputs, first, call.options, execution_));
      unchanged_ = unchanged_ && environment.unchanged();
      first += spans * span;
    }
    while (pieces.size() > 1) {
      const auto n = static_cast<std::size_t>(
          generator_.integers(0, static_cast<std::int64_t>(pieces.size()) - 1));
      const CallerEnvironment environment(mode_);
      if (n % 2 == 0) {  // either way round
        pieces[n].merge(pieces[n + 1]);
      } else {
        pieces[n + 1].merge(State::deserialize(pieces[n].serialize()));
        std::swap(pieces[n], pieces[n + 1]);
      }
      unchanged_ = unchanged_ && environment.unchanged();
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(n) + 1);
    }
    const CallerEnvironment environment(mode_);
    pieces[0].finish(whole.outputs, whole.options.sinks);
    unchanged_ = unchanged_ && environment.unchanged();
  }

  const Problem& p_;
  const ExecutionOptions& execution_;
  CallerMode mode_;
  random::Generator generator_;
  bool unchanged_ = true;
};

}  // namespace

const char* name_of(Way way) {
  constexpr const char* kNames[] = {"batch", "alone", "chunks", "rows", "states"};
  return kNames[static_cast<int>(way)];
}

bool compute(const Problem& p, Way way, const ExecutionOptions& execution, CallerMode mode,
             std::uint64_t seed) {
  Runner runner(p, execution, mode, seed);
  if (way == Way::kStates && p.has_dropout()) way = Way::kRows;  // states have no dropout
  if (way == Way::kBatch) {
    runner.run({p.inputs, p.outputs, p.options});
    return runner.unchanged();
  }
  for (std::int64_t b = 0; b < p.sequences; ++b) runner.sequence(p.sequence(b), way);
  if (p.weights.defined()) {  // they are asked of whole problems only
    Call call{p.inputs, p.outputs, p.options};
    call.outputs.out = call.outputs.lse = MutableTensorView();
    call.outputs.row_max = call.outputs.row_sum = MutableTensorView();
    runner.run(call);
  }
  return runner.unchanged();
}

}  // namespace qkv::test
