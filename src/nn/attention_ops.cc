// Attention on the tape.
#include "nn/tape_impl.h"
#include "plan/gradient_plan.h"
#include "plan/plan.h"

namespace qkv::nn {
namespace {

// [B, L, H, d] read as [B, H, L, d].
MutableTensorView heads_first(const Tensor& x, float* data) {
  const MutableTensorView view(data, DType::kFloat32, shape_of(x));
  return view.transposed(1, 2);
}

}  // namespace

Var Tape::attention(Var query, Var key, Var value, const AttentionOptions& options, Var bias) {
  if (!impl_->usable("attention", {query, key, value})) return {};
  if (bias.defined() && !impl_->usable("attention", {bias})) return {};
  Impl& t = *impl_;
  for (Var x : {query, key, value}) {
    if (t.value(x).rank() != 4) {
      return t.fail("attention: shape " + shape_string(t.value(x)) +
                    " is not [batch, tokens, heads, d]; reshape it");
    }
  }
  if (bias.defined() && options.bias.defined()) {
    return t.fail("attention: a bias that learns and options.bias; pass one of them");
  }
  AttentionInputs inputs;
  inputs.query = heads_first(t.value(query), t.numbers(query));
  inputs.key = heads_first(t.value(key), t.numbers(key));
  inputs.value = heads_first(t.value(value), t.numbers(value));
  AttentionOptions with_bias = options;
  if (bias.defined()) with_bias.bias = t.value(bias);
  const Tensor& q = t.value(query);
  const std::int64_t batch = q.extent(0), queries = q.extent(1), heads = q.extent(2),
                     d_v = t.value(value).extent(3);
  const Var y = bias.defined()
                    ? t.push(t.take({batch, queries, heads, d_v}), {query, key, value, bias})
                    : t.push(t.take({batch, queries, heads, d_v}), {query, key, value});
  const Tensor row_max = t.take({batch, heads, queries}), row_sum = t.take({batch, heads, queries});
  if (!y.defined() || !row_max.defined() || !row_sum.defined()) return {};
  AttentionOutputs outputs;
  outputs.out = heads_first(t.value(y), t.numbers(y));
  outputs.row_max = row_max;
  outputs.row_sum = row_sum;
  std::unique_ptr<Plan> plan;
  if (Status s = Plan::make(inputs, outputs, with_bias, t.execution, plan); !s.ok()) {
    return t.fail(s);
  }
  if (Status s = plan->run({}); !s.ok()) return t.fail(s);

  t.node(y).backward = [&t, query, key, value, bias, y, inputs, outputs, row_max, row_sum,
                        with_bias]() -> Status {
    GradientInputs in;
    in.query = inputs.query;
    in.key = inputs.key;
    in.value = inputs.value;
    in.d_out = heads_first(t.value(y), t.gradient(y));
    in.out = outputs.out;
    in.row_max = row_max;
    in.row_sum = row_sum;
    // Into memory of their own, then added: a value may be query, key and value at once.
    GradientOutputs out;
    Tensor results[4];
    const Var all[] = {query, key, value, bias};
    MutableTensorView* const views[] = {&out.d_query, &out.d_key, &out.d_value, &out.d_bias};
    for (int n = 0; n < 4; ++n) {
      if (!t.learns(all[n])) continue;
      results[n] = t.take(shape_of(t.value(all[n])));
      if (!results[n].defined()) return t.tape.status();
      *views[n] = n == 3 ? MutableTensorView(results[n])
                         : heads_first(results[n], results[n].data<float>());
    }
    std::unique_ptr<BackwardPlan> backward;
    if (Status s = BackwardPlan::make(in, out, with_bias, t.execution, backward); !s.ok()) return s;
    if (Status s = backward->run({}); !s.ok()) return s;
    for (int n = 0; n < 4; ++n) {
      if (!results[n].defined()) continue;
      float* sums = t.gradient(all[n]);
      const float* more = results[n].data<float>();
      for (std::int64_t i = 0; i < results[n].size(); ++i) sums[i] = sums[i] + more[i];
    }
    return {};
  };
  return y;
}

}  // namespace qkv::nn
