// Scenes of points: pairs that lie near each other, and pairs elsewhere that are alike.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "positions/positions.h"
#include "qkv/point_model.h"
#include "simd/float_environment.h"
#include "simd/trig.h"

namespace qkv::nn {
namespace {

constexpr std::int64_t kPairs = kScenePoints / 2;
constexpr double kPi = 0x1.921fb54442d18p+1;
constexpr std::array<double, 4> kFrequencies = {kPi, 2 * kPi, 4 * kPi, 8 * kPi};
constexpr double kFeatureNoise = 0.15;  // beside features of deviation 1

struct Place {
  double x, y;
};
using Places = std::array<Place, kPairs>;

Place around(Place center, double angle, double radius) {
  const SinCos of = sin_cos(angle);
  return {center.x + radius * of.cos, center.y + radius * of.sin};
}

// Centers of the pairs, far enough apart that a point's nearest neighbour is its partner.
Places scattered(random::Generator& rng) {  // 12 cells of a grid of 16
  Places places;
  const std::vector<std::int64_t> cells = rng.permutation(16);
  for (std::size_t n = 0; n < kPairs; ++n) {
    const std::int64_t cell_row = cells[n] / 4;
    const auto column = static_cast<double>(cells[n] % 4), row = static_cast<double>(cell_row);
    const double dx = rng.random(), dy = rng.random();
    places[n] = {(column + 0.25 + 0.5 * dx) / 4, (row + 0.25 + 0.5 * dy) / 4};
  }
  return places;
}

Places ring(random::Generator& rng) {
  Places places;
  const double turn = rng.random();
  for (std::size_t n = 0; n < kPairs; ++n) {
    const double share = (static_cast<double>(n) + turn) / static_cast<double>(kPairs);
    places[n] = around({0.5, 0.5}, 2 * kPi * share, 0.38 + 0.06 * rng.random());
  }
  return places;
}

Places clusters(random::Generator& rng) {  // three, of four pairs each
  Places places;
  const double turn = rng.random();
  for (std::size_t n = 0; n < kPairs; ++n) {
    const std::size_t number = n / 4;
    const double cluster = (static_cast<double>(number) + turn) / 3;
    const Place center = around({0.5, 0.5}, 2 * kPi * cluster, 0.3);
    const double quarter = (static_cast<double>(n % 4) + 0.3 * rng.random()) / 4;
    places[n] = around(center, 2 * kPi * quarter, 0.12);
  }
  return places;
}

Places centers(SceneLayout layout, random::Generator& rng) {
  if (layout == SceneLayout::kRing) return ring(rng);
  return layout == SceneLayout::kClusters ? clusters(rng) : scattered(rng);
}

// Who is like whom: points of different pairs, two by two.
std::vector<std::int64_t> matches(random::Generator& rng) {
  for (;;) {
    std::vector<std::int64_t> order = rng.permutation(kScenePoints);
    bool apart = true;
    for (std::size_t n = 0; n < order.size(); n += 2) {
      apart = apart && order[n] / 2 != order[n + 1] / 2;
    }
    if (apart) return order;
  }
}

Status write_place(Place place, float* token) {
  token[0] = static_cast<float>(place.x);
  token[1] = static_cast<float>(place.y);
  const double coordinates[] = {place.x, place.y};
  return fill_fourier_features(coordinates, kFrequencies,
                               {token + 2, DType::kFloat32, {2, kTokenPlaces / 2 - 1}});
}

// One scene into its 24 tokens and what is known of them.
Status draw_scene(random::Generator& rng, SceneLayout layout, float* tokens, std::int64_t* labels,
                  std::int64_t* near, std::int64_t* alike) {
  const Places places = centers(layout, rng);
  for (std::int64_t n = 0; n < kPairs; ++n) {
    const double angle = 2 * kPi * rng.random(), radius = 0.015 + 0.015 * rng.random();
    const Place center = places[static_cast<std::size_t>(n)];
    for (const std::int64_t point : {2 * n, 2 * n + 1}) {
      const Place place = around(center, angle, point % 2 == 0 ? radius : -radius);
      if (Status s = write_place(place, tokens + point * kTokenSize); !s.ok()) return s;
      near[point] = point ^ 1;
    }
  }
  const std::vector<std::int64_t> order = matches(rng);
  for (std::size_t n = 0; n < order.size(); n += 2) {
    std::array<double, kTokenFeatures> features;
    rng.normal(features);
    for (const auto& [point, other] :
         {std::pair(order[n], order[n + 1]), std::pair(order[n + 1], order[n])}) {
      float* to = tokens + point * kTokenSize + kTokenPlaces;
      for (const double feature : features) {
        *to++ = static_cast<float>(feature + rng.normal(0.0, kFeatureNoise));
      }
      alike[point] = other;
    }
  }
  std::array<std::int64_t, kScenePoints> bits;
  rng.integers(bits, 0, 2);
  for (std::int64_t point = 0; point < kScenePoints; ++point) {
    const auto bit = [&](std::int64_t of) { return bits[static_cast<std::size_t>(of)]; };
    tokens[point * kTokenSize + kTokenSize - 1] = static_cast<float>(2 * bit(point) - 1);
    labels[point] = 2 * bit(near[point]) + bit(alike[point]);
  }
  return {};
}

}  // namespace

Status make_point_scenes(random::Generator& rng, std::int64_t count, SceneLayout layout,
                         PointScenes& scenes) {
  if (count < 0) {
    return invalid_argument("count: " + std::to_string(count) + " scenes; pass 0 or more");
  }
  const FloatEnvironment environment;
  if (!scenes.tokens.defined() || scenes.count != count) {
    const std::int64_t shape[] = {count, kScenePoints, kTokenSize};
    if (Status s = allocate(DType::kFloat32, shape, scenes.tokens); !s.ok()) return s;
  }
  const auto points = static_cast<std::size_t>(count * kScenePoints);
  for (auto* numbers : {&scenes.labels, &scenes.near, &scenes.alike}) numbers->assign(points, 0);
  scenes.count = count;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t first = n * kScenePoints;
    if (Status s = draw_scene(rng, layout, scenes.tokens.data<float>() + first * kTokenSize,
                              scenes.labels.data() + first, scenes.near.data() + first,
                              scenes.alike.data() + first);
        !s.ok()) {
      return s;
    }
  }
  return {};
}

}  // namespace qkv::nn
