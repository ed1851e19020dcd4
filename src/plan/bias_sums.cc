#include "plan/bias_sums.h"

#include "tensor/element.h"

namespace qkv {

void BiasSums::add(const KeyHead& at, const RowTile& rows, KeyRange keys,
                   const float* numbers) const {
  const MutableTensorView& view = g_.d_bias;
  for (int r = 0; r < rows.rows; ++r) {
    const std::int64_t offset =
        offset_of(view, at.sequence.buffer, rows.heads[r],
                  at.sequence.query_begin + rows.queries[r], at.sequence.key_row(keys.begin));
    for (std::int64_t key = 0; key < keys.end - keys.begin; ++key) {
      const std::int64_t place = offset + key * view.strides[3];
      store_result(view, place, load_float(view, place) + numbers[key * kGradientRows + r]);
    }
  }
}

}  // namespace qkv
