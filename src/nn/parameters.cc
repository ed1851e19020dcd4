#include <algorithm>
#include <cmath>

#include "nn/tape_impl.h"
#include "simd/float_environment.h"
#include "simd/trig.h"

namespace qkv::nn {
namespace {

// A parameter that could not be had has no tensors.
std::int64_t numbers_in(const Tensor& x) { return x.defined() ? x.size() : 0; }

}  // namespace

Parameter& Parameters::add(std::string name, std::span<const std::int64_t> shape, bool decays) {
  if (find(name) != nullptr && status_.ok()) {
    status_ = invalid_argument("parameters: the name \"" + name + "\" is taken; give another");
  }
  Parameter& added = all_.emplace_back();
  added.name = std::move(name);
  added.decays = decays;
  for (Tensor* tensor : {&added.value, &added.gradient}) {
    if (Status s = allocate(DType::kFloat32, shape, *tensor); !s.ok()) {
      if (status_.ok()) status_ = s;
      added.value = added.gradient = Tensor();  // both or none
      break;
    }
  }
  return added;
}

Parameter& Parameters::add_normal(std::string name, std::span<const std::int64_t> shape,
                                  double deviation, random::Generator& rng) {
  Parameter& added = add(std::move(name), shape, true);
  if (!added.value.defined()) return added;
  float* numbers = added.value.data<float>();
  for (std::int64_t n = 0; n < added.value.size(); ++n) {
    numbers[n] = static_cast<float>(rng.normal(0.0, deviation));
  }
  return added;
}

Parameter& Parameters::add_ones(std::string name, std::span<const std::int64_t> shape) {
  Parameter& added = add(std::move(name), shape, false);
  if (added.value.defined()) {
    std::fill_n(added.value.data<float>(), added.value.size(), 1.0f);
  }
  return added;
}

Parameter* Parameters::find(const std::string& name) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Parameter& p) { return p.name == name; });
  return found == all_.end() ? nullptr : &*found;
}

std::int64_t Parameters::count() const {
  std::int64_t count = 0;
  for (const Parameter& p : all_) count += numbers_in(p.value);
  return count;
}

void Parameters::clear_gradients() {
  for (Parameter& p : all_) std::fill_n(p.gradient.data<float>(), numbers_in(p.gradient), 0.0f);
}

// ---- Optimisers ---------------------------------------------------------------------------------

namespace {

// One tensor of zeros a parameter, for those that have none yet.
Status add_zeros(const Parameters& parameters, std::vector<Tensor>& zeros) {
  const std::deque<Parameter>& all = parameters.all();
  while (zeros.size() < all.size()) {
    const Tensor& like = all[zeros.size()].value;
    Tensor added;
    if (like.defined()) {
      if (Status s = allocate(DType::kFloat32, shape_of(like), added); !s.ok()) return s;
    }
    zeros.push_back(std::move(added));
  }
  return {};
}

}  // namespace

AdamW::AdamW(Parameters& parameters, const Options& options)
    : parameters_(parameters), options_(options) {
  has_memory();
}

bool AdamW::has_memory() const {
  status_ = add_zeros(parameters_, first_);
  if (status_.ok()) status_ = add_zeros(parameters_, second_);
  return status_.ok();
}

void AdamW::step(float learning_rate) {
  if (!has_memory()) return;
  const FloatEnvironment environment;
  ++steps_;
  // 1 - beta^steps by repeated products in double.
  double power1 = 1, power2 = 1;
  for (std::int64_t n = 0; n < steps_ && (power1 != 0 || power2 != 0); ++n) {
    power1 *= static_cast<double>(options_.beta1);
    power2 *= static_cast<double>(options_.beta2);
  }
  const auto unbias1 = static_cast<float>(1 / (1 - power1));
  const auto unbias2 = static_cast<float>(1 / (1 - power2));
  const float beta1 = options_.beta1, beta2 = options_.beta2;
  const float rest1 = 1.0f - beta1, rest2 = 1.0f - beta2, epsilon = options_.epsilon;
  std::size_t n = 0;
  for (Parameter& p : parameters_.all()) {
    float *value = p.value.data<float>(), *m = first_[n].data<float>(),
          *v = second_[n].data<float>();
    const float* g = p.gradient.data<float>();
    const float decay = p.decays ? learning_rate * options_.weight_decay : 0.0f;
    for (std::int64_t i = 0; i < numbers_in(p.value); ++i) {
      m[i] = beta1 * m[i] + rest1 * g[i];
      v[i] = beta2 * v[i] + rest2 * (g[i] * g[i]);
      const float change = (m[i] * unbias1) / (std::sqrt(v[i] * unbias2) + epsilon);
      value[i] = (value[i] - decay * value[i]) - learning_rate * change;
    }
    ++n;
  }
}

std::vector<std::pair<std::string, Tensor>> AdamW::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  if (!has_memory()) return all;
  std::size_t n = 0;
  for (const Parameter& p : parameters_.all()) {
    all.emplace_back(p.name + ".first", first_[n]);
    all.emplace_back(p.name + ".second", second_[n]);
    ++n;
  }
  return all;
}

Sgd::Sgd(Parameters& parameters, float momentum) : parameters_(parameters), momentum_(momentum) {
  has_memory();
}

bool Sgd::has_memory() const {
  status_ = add_zeros(parameters_, velocity_);
  return status_.ok();
}

void Sgd::step(float learning_rate) {
  if (!has_memory()) return;
  const FloatEnvironment environment;
  ++steps_;
  std::size_t n = 0;
  for (Parameter& p : parameters_.all()) {
    float *value = p.value.data<float>(), *v = velocity_[n++].data<float>();
    const float* g = p.gradient.data<float>();
    for (std::int64_t i = 0; i < numbers_in(p.value); ++i) {
      v[i] = momentum_ * v[i] + g[i];
      value[i] = value[i] - learning_rate * v[i];
    }
  }
}

std::vector<std::pair<std::string, Tensor>> Sgd::state() const {
  std::vector<std::pair<std::string, Tensor>> all;
  if (!has_memory()) return all;
  std::size_t n = 0;
  for (const Parameter& p : parameters_.all())
    all.emplace_back(p.name + ".velocity", velocity_[n++]);
  return all;
}

float cosine_schedule(std::int64_t step, std::int64_t warm_up, std::int64_t steps, float most,
                      float least) {
  const FloatEnvironment environment;
  if (step < warm_up) {
    return static_cast<float>(static_cast<double>(most) * static_cast<double>(step + 1) /
                              static_cast<double>(warm_up));
  }
  if (step >= steps) return least;
  const double share = static_cast<double>(step - warm_up) /
                       static_cast<double>(std::max<std::int64_t>(1, steps - warm_up));
  const double height = 0.5 * (1 + sin_cos(share * 0x1.921fb54442d18p+1).cos);
  return static_cast<float>(static_cast<double>(least) +
                            (static_cast<double>(most) - static_cast<double>(least)) * height);
}

double clip_gradients(Parameters& parameters, double most) {
  const FloatEnvironment environment;
  double sum = 0;
  for (const Parameter& p : parameters.all()) {
    const float* g = p.gradient.data<float>();
    for (std::int64_t i = 0; i < numbers_in(p.gradient); ++i) {
      sum += static_cast<double>(g[i]) * static_cast<double>(g[i]);
    }
  }
  const double norm = std::sqrt(sum);
  if (!(norm > most)) return norm;
  const auto factor = static_cast<float>(most / norm);
  for (Parameter& p : parameters.all()) {
    float* g = p.gradient.data<float>();
    for (std::int64_t i = 0; i < numbers_in(p.gradient); ++i) g[i] = g[i] * factor;
  }
  return norm;
}

}  // namespace qkv::nn
