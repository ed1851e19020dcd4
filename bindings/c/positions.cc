#include "positions/positions.h"

#include "boundary.h"
#include "convert.h"
#include "qkv_learn.h"

using qkv::Status;
using namespace qkv::c;

qkv_status qkv_sinusoidal_frequencies(int64_t d, double base, double* frequencies, int64_t count) {
  return guarded([&]() -> Status {
    std::span<double> places;
    if (Status s = to_span("frequencies", frequencies, count, places); !s.ok()) return s;
    return qkv::fill_frequencies(d, base, places);
  });
}

qkv_status qkv_fourier_features(const double* x, int64_t x_count, const double* frequencies,
                                int64_t frequency_count, const qkv_tensor* out) {
  return guarded([&]() -> Status {
    std::span<const double> at, turns;
    qkv::MutableTensorView features;
    if (Status s = to_span("x", x, x_count, at); !s.ok()) return s;
    if (Status s = to_span("frequencies", frequencies, frequency_count, turns); !s.ok()) return s;
    if (Status s = to_view("out", out, features); !s.ok()) return s;
    return qkv::fill_fourier_features(at, turns, features);
  });
}

qkv_status qkv_sinusoidal_positions(int64_t first, double base, const qkv_tensor* out) {
  return guarded([&]() -> Status {
    qkv::MutableTensorView positions;
    if (Status s = to_view("out", out, positions); !s.ok()) return s;
    return qkv::fill_sinusoidal_positions(first, base, positions);
  });
}
