// The steps of one row, collected from `exact` as it computes.
#ifndef QKV_INSPECT_STEPS_H_
#define QKV_INSPECT_STEPS_H_

#include "qkv/status.h"
#include "qkv/steps.h"

namespace qkv {

// Fills `steps`; on failure it is as it was.
Status compute_row_steps(const AttentionInputs& inputs, const RowIndex& index,
                         const AttentionOptions& options, RowSteps& steps);

}  // namespace qkv

#endif  // QKV_INSPECT_STEPS_H_
