#include "plan/serialized_states.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/attention/kernel.h"
#include "qkv/contract.h"
#include "tensor/element.h"

namespace qkv {
namespace {

constexpr char kMagic[] = {'Q', 'K', 'V', 'S', 'T', 'A', 'T', 'E'};

class Writer {
 public:
  void bytes(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    out.insert(out.end(), first, first + size);
  }
  void number(std::int64_t value) { little_endian(static_cast<std::uint64_t>(value), 8); }
  void real(float value) { little_endian(std::bit_cast<std::uint32_t>(canonical(value)), 4); }

  std::vector<std::byte> out;

 private:
  void little_endian(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) out.push_back(static_cast<std::byte>(value >> 8 * i));
  }
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::int64_t number() { return static_cast<std::int64_t>(little_endian(8)); }
  float real() { return std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(4))); }
  bool magic() {
    const bool same =
        rest_.size() >= sizeof(kMagic) && std::memcmp(rest_.data(), kMagic, sizeof(kMagic)) == 0;
    if (same) rest_ = rest_.subspan(sizeof(kMagic));
    return same;
  }
  std::size_t left() const { return rest_.size(); }
  bool failed() const { return failed_; }

 private:
  std::uint64_t little_endian(std::size_t size) {
    if (rest_.size() < size) {
      failed_ = true;
      return 0;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) value |= static_cast<std::uint64_t>(rest_[i]) << 8 * i;
    rest_ = rest_.subspan(size);
    return value;
  }

  std::span<const std::byte> rest_;
  bool failed_ = false;
};

// Whether these are sizes that of() can give.
bool plausible(std::int64_t rank, const States& s) {
  if (rank < 2 || rank > kMaxRank) return false;
  if ((rank < 4 && s.batch != 1) || (rank < 3 && s.heads != 1)) return false;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  for (std::int64_t n : {s.batch, s.heads, s.queries, s.d_v}) {
    if (n < 0 || n > kMost) return false;
  }
  std::int64_t product = 1;
  for (std::int64_t n : {s.batch, s.heads, s.queries, s.d_v + 2}) {
    if (__builtin_mul_overflow(product, n, &product)) return false;
  }
  return product <= kMost && s.first_key >= 0 && s.first_key <= kMaxPosition &&
         s.first_key % kSpan == 0 && s.end_key >= s.first_key &&
         s.end_key - s.first_key <= kMaxPosition;
}

}  // namespace

std::vector<std::byte> serialize_states(const States& s) {
  Writer writer;
  writer.bytes(kMagic, sizeof(kMagic));
  for (std::int64_t n :
       {std::int64_t{contract().version}, std::int64_t{s.rank}, s.batch, s.heads, s.queries, s.d_v,
        s.first_key, s.end_key, static_cast<std::int64_t>(s.nodes.size())}) {
    writer.number(n);
  }
  const std::int64_t stride = state_stride(s.d_v);
  for (const StateNode& node : s.nodes) {
    writer.number(node.first_span);
    writer.number(node.end_span);
    for (std::int64_t row = 0; row < s.rows(); ++row) {
      const float* state = node.states.data() + row * stride;
      writer.real(state[0]);
      writer.real(state[1]);
      for (std::int64_t c = 0; c < s.d_v; ++c) writer.real(state[kStateValues + c]);
    }
  }
  return std::move(writer.out);
}

Status deserialize_states(std::span<const std::byte> bytes, States& s) {
  Status malformed =
      invalid_argument("bytes: this is no serialized state; pass what serialize() returned");
  Reader reader(bytes);
  if (!reader.magic()) return malformed;
  if (const std::int64_t version = reader.number(); version != contract().version) {
    return invalid_argument("bytes: a state of contract version " + std::to_string(version) +
                            "; this library has version " + std::to_string(contract().version));
  }
  s = {};
  const std::int64_t rank = reader.number();
  s.batch = reader.number();
  s.heads = reader.number();
  s.queries = reader.number();
  s.d_v = reader.number();
  s.first_key = reader.number();
  s.end_key = reader.number();
  const std::int64_t nodes = reader.number();
  if (reader.failed() || !plausible(rank, s) || nodes < 0 || nodes > 128) return malformed;
  s.rank = static_cast<int>(rank);
  // What is left must be exactly the nodes; checked before anything is allocated for them.
  const std::int64_t node_bytes = 16 + s.rows() * (2 + s.d_v) * 4;
  if (static_cast<std::uint64_t>(nodes * node_bytes) != reader.left()) return malformed;
  const std::int64_t stride = state_stride(s.d_v);
  std::int64_t next_span = s.first_key / kSpan;
  for (std::int64_t n = 0; n < nodes; ++n) {
    StateNode node{reader.number(), reader.number(), {}};
    if (node.first_span != next_span || node.end_span <= node.first_span) return malformed;
    const std::int64_t spans = node.end_span - node.first_span;
    if ((spans & (spans - 1)) != 0 || node.first_span % spans != 0) return malformed;
    next_span = node.end_span;
    node.states.resize(static_cast<std::size_t>(s.rows() * stride));
    for (std::int64_t row = 0; row < s.rows(); ++row) {
      float* state = node.states.data() + row * stride;
      state[0] = reader.real();
      state[1] = reader.real();
      if (state[1] < 0) return malformed;  // a sum of exponentials
      for (std::int64_t c = 0; c < s.d_v; ++c) state[kStateValues + c] = reader.real();
    }
    s.nodes.push_back(std::move(node));
  }
  if (next_span != (s.end_key + kSpan - 1) / kSpan) return malformed;
  return {};
}

}  // namespace qkv
