#include "inspect/steps.h"

#include <memory>
#include <vector>

#include "boundary.h"
#include "convert.h"
#include "qkv_learn.h"
#include "structs.h"

using qkv::BlockStep;
using qkv::KeyStep;
using qkv::MergeStep;
using qkv::RowSteps;
using qkv::SoftmaxState;
using qkv::Status;
using namespace qkv::c;

namespace {

// States as one array a field.
struct States {
  std::vector<float> max, sum, accumulators;

  void add(const SoftmaxState& state) {
    max.push_back(state.max);
    sum.push_back(state.sum);
    accumulators.insert(accumulators.end(), state.accumulator.begin(), state.accumulator.end());
  }
};

// The records of qkv/steps.h as one array a field.
struct Columns {
  std::vector<std::int64_t> key_index, key_row, block_first_key, block_end_key, block_span,
      merge_spans;
  std::vector<std::int32_t> key_live;
  std::vector<float> key_dot, key_score, key_block_exp, key_weight;
  std::vector<float> block_max_before, block_rescale, block_sum, block_values;
  States running, merged;
};

template <class T, class Record, class Field>
std::vector<T> column(const std::vector<Record>& records, Field Record::* field) {
  std::vector<T> result;
  result.reserve(records.size());
  for (const Record& record : records) result.push_back(record.*field);
  return result;
}

Columns columns_of(const RowSteps& steps) {
  Columns to;
  to.key_index = column<std::int64_t>(steps.keys, &KeyStep::key);
  to.key_row = column<std::int64_t>(steps.keys, &KeyStep::row);
  to.key_live = column<std::int32_t>(steps.keys, &KeyStep::live);
  to.key_dot = column<float>(steps.keys, &KeyStep::dot);
  to.key_score = column<float>(steps.keys, &KeyStep::score);
  to.key_block_exp = column<float>(steps.keys, &KeyStep::block_exp);
  to.key_weight = column<float>(steps.keys, &KeyStep::weight);
  to.block_first_key = column<std::int64_t>(steps.blocks, &BlockStep::first_key);
  to.block_end_key = column<std::int64_t>(steps.blocks, &BlockStep::end_key);
  to.block_span = column<std::int64_t>(steps.blocks, &BlockStep::span);
  to.block_max_before = column<float>(steps.blocks, &BlockStep::max_before);
  to.block_rescale = column<float>(steps.blocks, &BlockStep::rescale);
  to.block_sum = column<float>(steps.blocks, &BlockStep::block_sum);
  for (const BlockStep& block : steps.blocks) {
    to.block_values.insert(to.block_values.end(), block.block_values.begin(),
                           block.block_values.end());
    to.running.add(block.after);
  }
  for (const MergeStep& merge : steps.merges) {
    to.merge_spans.insert(to.merge_spans.end(),
                          {merge.first_span, merge.middle_span, merge.end_span});
    to.merged.add(merge.first);
    to.merged.add(merge.second);
    to.merged.add(merge.merged);
  }
  return to;
}

std::int64_t count_of(const auto& records) { return static_cast<std::int64_t>(records.size()); }

}  // namespace

struct qkv_steps {
  RowSteps steps;
  Columns columns;
};

qkv_status qkv_steps_of(const qkv_attention_inputs* inputs, const qkv_attention_options* options,
                        int64_t batch, int64_t head, int64_t row, qkv_steps** steps) {
  return guarded([&]() -> Status {
    if (steps == nullptr) return null_argument("steps");
    *steps = nullptr;
    qkv::AttentionInputs in;
    qkv::AttentionOptions what;
    CallbackRecord callbacks;
    if (Status s = to_inputs(inputs, in); !s.ok()) return s;
    if (Status s = to_options(options, callbacks, what); !s.ok()) return s;
    auto made = std::make_unique<qkv_steps>();
    if (Status s =
            callbacks.status_of(qkv::compute_row_steps(in, {batch, head, row}, what, made->steps));
        !s.ok()) {
      return s;
    }
    made->columns = columns_of(made->steps);
    *steps = made.release();
    return {};
  });
}

qkv_status qkv_steps_describe(const qkv_steps* steps, qkv_steps_description* description) {
  return guarded([&]() -> Status {
    if (steps == nullptr) return null_argument("steps");
    const RowSteps& from = steps->steps;
    const Columns& columns = steps->columns;
    qkv_steps_description filled = {};
    filled.has_sink = from.sink.has_value() ? 1 : 0;
    filled.sink = from.sink.value_or(0.0f);
    filled.keys_max = from.all_keys.max;
    filled.keys_sum = from.all_keys.sum;
    filled.final_max = from.final_state.max;
    filled.final_sum = from.final_state.sum;
    filled.lse = from.lse;
    filled.sequence = from.sequence;
    filled.position = from.position;
    filled.d_v = count_of(from.out);
    filled.key_count = count_of(from.keys);
    filled.block_count = count_of(from.blocks);
    filled.merge_count = count_of(from.merges);
    filled.key_index = columns.key_index.data();
    filled.key_row = columns.key_row.data();
    filled.key_live = columns.key_live.data();
    filled.key_dot = columns.key_dot.data();
    filled.key_score = columns.key_score.data();
    filled.key_block_exp = columns.key_block_exp.data();
    filled.key_weight = columns.key_weight.data();
    filled.block_first_key = columns.block_first_key.data();
    filled.block_end_key = columns.block_end_key.data();
    filled.block_span = columns.block_span.data();
    filled.block_max_before = columns.block_max_before.data();
    filled.block_max_after = columns.running.max.data();
    filled.block_rescale = columns.block_rescale.data();
    filled.block_sum = columns.block_sum.data();
    filled.block_values = columns.block_values.data();
    filled.running_sum = columns.running.sum.data();
    filled.running_values = columns.running.accumulators.data();
    filled.merge_spans = columns.merge_spans.data();
    filled.merge_max = columns.merged.max.data();
    filled.merge_sum = columns.merged.sum.data();
    filled.merge_values = columns.merged.accumulators.data();
    filled.keys_values = from.all_keys.accumulator.data();
    filled.final_values = from.final_state.accumulator.data();
    filled.out = from.out.data();
    return write_struct("description", filled, description);
  });
}

void qkv_steps_destroy(qkv_steps* steps) { delete steps; }
