// From the options of `qkv attend` to tensors in memory.
#ifndef QKV_APPS_QKV_ATTEND_PROBLEM_H_
#define QKV_APPS_QKV_ATTEND_PROBLEM_H_

#include <string>
#include <vector>

#include "attend_options.h"
#include "qkv/attention.h"
#include "qkv/io.h"

namespace qkv::app {

struct AttendProblem {
  AttentionInputs inputs;
  AttentionOptions options;
  AttentionOutputs outputs;
  std::vector<io::NamedTensor> results;  // what the result file gets, in the layout asked for
  std::vector<Tensor> memory;            // what all of the above look at
  std::vector<std::string> files;        // that were read
  std::uint64_t input_bytes = 0;         // of query, key, value, mask and bias
};

// Reads the arrays (mapped, not copied, unless they must be converted) and allocates the outputs.
// Throws a Failure.
AttendProblem load_problem(const AttendRequest& request);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_ATTEND_PROBLEM_H_
