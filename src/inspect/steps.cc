#include "inspect/steps.h"

#include <string>
#include <utility>

#include "kernels/exact/exact.h"
#include "problem/problem.h"
#include "simd/float_environment.h"
#include "tensor/element.h"

namespace qkv {
namespace {

std::vector<float> canonical(const std::vector<float>& numbers) {
  std::vector<float> result;
  result.reserve(numbers.size());
  for (float number : numbers) result.push_back(qkv::canonical(number));
  return result;
}

SoftmaxState canonical(const exact::RowState& state) {
  return {qkv::canonical(state.m), qkv::canonical(state.l), canonical(state.o)};
}

class Collector : public exact::Observer {
 public:
  Collector(const Sequence& sequence, RowSteps& steps) : sequence_(sequence), steps_(steps) {}

  void block(const exact::Block& block, const exact::RowState& after) override {
    auto live = block.live.begin();
    for (std::int64_t j = block.keys.begin; j < block.keys.end; ++j) {
      KeyStep key;
      key.key = j;
      key.row = sequence_.key_row(j);
      if (live != block.live.end() && live->j == j) {
        key.live = true;
        key.dot = qkv::canonical(live->t);
        key.score = qkv::canonical(live->s);
        key.block_exp = qkv::canonical(live->exp);
        ++live;
      }
      steps_.keys.push_back(key);
    }
    BlockStep step;
    step.first_key = block.keys.begin;
    step.end_key = block.keys.end;
    step.span = block.span;
    step.max_before = qkv::canonical(block.m_before);
    step.rescale = qkv::canonical(block.a);
    step.block_sum = qkv::canonical(block.sums.l);
    step.block_values = canonical(block.sums.o);
    step.after = canonical(after);
    steps_.blocks.push_back(std::move(step));
  }

  void merged(std::int64_t first, std::int64_t middle, std::int64_t end, const exact::RowState& x,
              const exact::RowState& y, const exact::RowState& both) override {
    steps_.merges.push_back({first, middle, end, canonical(x), canonical(y), canonical(both)});
  }

  void sink(const exact::RowState& keys, float sink, const exact::RowState&) override {
    steps_.sink = sink;
    steps_.all_keys = canonical(keys);
  }

 private:
  const Sequence& sequence_;
  RowSteps& steps_;
};

Status check_index(const char* name, std::int64_t index, std::int64_t count) {
  if (index >= 0 && index < count) return {};
  return invalid_argument(std::string(name) + ": " + std::to_string(index) + " is not among the " +
                          std::to_string(count) + " there are; count from 0");
}

}  // namespace

Status compute_row_steps(const AttentionInputs& inputs, const RowIndex& index,
                         const AttentionOptions& options, RowSteps& steps) {
  const FloatEnvironment environment;  // the scale is rounded, too
  Problem p;
  p.inputs = inputs;
  p.options = options;
  if (Status s = validate(p); !s.ok()) return s;
  if (p.is_float64()) {
    return unsupported(
        "query, key, value: float64 is not computed in these steps; convert to "
        "float32");
  }
  if (p.packed() && index.batch != 0) {
    return invalid_argument("batch: " + std::to_string(index.batch) +
                            " with packed sequences; pass 0, and the row of the packed buffer");
  }
  if (Status s = check_index("batch", index.batch, p.query.extents[0]); !s.ok()) return s;
  if (Status s = check_index("head", index.head, p.query_heads()); !s.ok()) return s;
  if (Status s = check_index("row", index.row, p.queries()); !s.ok()) return s;

  const Sequence sequence = p.sequence_of_row(index.batch, index.row);
  const std::int64_t i = index.row - sequence.query_begin;
  RowSteps made;
  made.sequence = sequence.index;
  made.position = sequence.position(i);
  Collector collector(sequence, made);
  const exact::RowState state = exact::final_state(p, sequence, index.head, i, &collector);
  made.final_state = canonical(state);
  if (!made.sink) made.all_keys = made.final_state;
  for (KeyStep& key : made.keys) {
    if (key.live) key.weight = qkv::canonical(exact::weight_of(state, key.score));
  }
  for (std::int64_t c = 0; c < p.d_v(); ++c) {
    made.out.push_back(qkv::canonical(exact::out_of(state, c) * p.dropout_factor));
  }
  made.lse = qkv::canonical(exact::lse_of(state));
  steps = std::move(made);
  return {};
}

}  // namespace qkv
