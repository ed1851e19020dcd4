#include "kernels/reference/reference.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels/reference/functions.h"
#include "kernels/reference/row.h"
#include "tensor/element.h"

namespace qkv::reference {
namespace {

template <class T>
void attention_row(const Row<T>& row, std::span<T> scores) {
  const Problem& p = row.p;
  const Sequence& seq = row.sequence;
  const Softmax<T> soft = softmax(row, scores);
  if (p.out.defined()) {
    for (std::int64_t c = 0; c < p.d_v(); ++c) {
      T sum = 0;
      for (std::int64_t j = soft.keys.begin; j < soft.keys.end; ++j) {
        const T weight = scores[j - soft.keys.begin];
        // A masked or dropped key takes no part: 0 * NaN would be NaN.
        if (weight == kMasked<T> || !row.kept(j)) continue;
        sum += weight * row.load(p.value, offset_of(p.value, seq.buffer, p.key_head(row.head),
                                                    seq.key_row(j), c));
      }
      store_result(p.out, offset_of(p.out, seq.buffer, row.head, row.query_row(), c),
                   soft.live ? sum / soft.l * dropout_factor<T>(row.p) : T{0});
    }
  }
  const bool empty = !soft.live && soft.l == 0;
  const double lse =
      empty ? -kInfinity<double> : static_cast<double>(soft.m) + log(static_cast<double>(soft.l));
  const std::pair<const MutableTensorView*, double> numbers[] = {
      {&p.lse, lse}, {&p.row_max, soft.m}, {&p.row_sum, soft.l}};
  for (const auto& [view, number] : numbers) {
    if (!view->defined()) continue;
    store_result(*view, offset_of(*view, seq.buffer, row.head, row.query_row(), 0), number);
  }
}

const ScoreMod64 kNoScoreMod;

template <class T>
void weights_row_of(const Problem& p, const ScoreMod64& score_mod, std::int64_t batch,
                    std::int64_t head, std::int64_t row, std::span<T> scores) {
  const WeightsSelection& chosen = p.outputs.selection;
  const std::int64_t query_head = chosen.heads.empty() ? head : chosen.heads[head];
  const std::int64_t query_row = chosen.rows.empty() ? row : chosen.rows[row];
  const Sequence seq = p.sequence_of_row(batch, query_row);
  const Softmax<T> soft =
      softmax(Row<T>{p, seq, score_mod, query_head, query_row - seq.query_begin}, scores);
  const std::int64_t offset = offset_of(p.weights, batch, head, row, 0);
  for (std::int64_t column = 0; column < p.keys(); ++column) {
    store_result(p.weights, offset + column * p.weights.strides[3], T{0});
  }
  for (std::int64_t j = soft.keys.begin; soft.live && j < soft.keys.end; ++j) {
    store_result(
        p.weights, offset + seq.key_row(j) * p.weights.strides[3],
        scores[j - soft.keys.begin] == kMasked<T> ? T{0} : scores[j - soft.keys.begin] / soft.l);
  }
}

template <class T>
void attention_all(const Problem& p, const ScoreMod64& score_mod) {
  std::vector<T> scores(static_cast<std::size_t>(p.keys()));
  for (std::int64_t b = 0; b < p.sequences; ++b) {
    const Sequence sequence = p.sequence(b);
    for (std::int64_t head = 0; head < p.query_heads(); ++head) {
      for (std::int64_t i = 0; i < sequence.query_rows; ++i) {
        attention_row(Row<T>{p, sequence, score_mod, head, i}, std::span<T>(scores));
      }
    }
  }
  if (!p.weights.defined()) return;
  for (std::int64_t b = 0; b < p.weights.extents[0]; ++b) {
    for (std::int64_t h = 0; h < p.weights.extents[1]; ++h) {
      for (std::int64_t r = 0; r < p.weights.extents[2]; ++r) {
        weights_row_of(p, score_mod, b, h, r, std::span<T>(scores));
      }
    }
  }
}

}  // namespace

void attention_rows(const Problem& p, const Sequence& sequence, std::int64_t head,
                    std::int64_t begin, std::int64_t end, std::span<double> scores) {
  for (std::int64_t i = begin; i < end; ++i) {
    attention_row(Row<double>{p, sequence, kNoScoreMod, head, i}, scores);
  }
}

void weights_row(const Problem& p, std::int64_t batch, std::int64_t head, std::int64_t row,
                 std::span<double> scores) {
  weights_row_of(p, kNoScoreMod, batch, head, row, scores);
}

void attention(const Problem& p, const ScoreMod64& score_mod) {
  attention_all<double>(p, score_mod);
}

void attention_plain_float(const Problem& p, const ScoreMod64& score_mod) {
  attention_all<float>(p, score_mod);
}

}  // namespace qkv::reference
