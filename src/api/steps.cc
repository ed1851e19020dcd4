#include "qkv/steps.h"

#include "api/callbacks.h"
#include "inspect/steps.h"

namespace qkv {

RowSteps row_steps(const AttentionInputs& inputs, const RowIndex& index,
                   const AttentionOptions& options) {
  CallbackGuard callbacks;
  AttentionOptions guarded = options;
  callbacks.wrap(guarded);
  RowSteps steps;
  const Status status = compute_row_steps(inputs, index, guarded, steps);
  callbacks.rethrow();
  throw_if_error(status);
  return steps;
}

}  // namespace qkv
