#include "character_text.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <fstream>

#include "command.h"
#include "terminal.h"

#ifdef QKV_TRAINING_TEXT
asm(R"(
  .section .rodata
qkv_training_text_begin:
  .incbin ")" QKV_TRAINING_TEXT R"("
qkv_training_text_end:
  .text
)");
extern "C" {
extern const char qkv_training_text_begin[] __attribute__((visibility("hidden")));
extern const char qkv_training_text_end[] __attribute__((visibility("hidden")));
}
#endif

namespace qkv::app {
namespace {

constexpr std::size_t kShortest = 4096;
constexpr std::size_t kLongest = std::size_t{1} << 28;

// Counts of what follows a context of `order` characters.
class Counts {
 public:
  Counts(std::size_t kinds, std::size_t order) : kinds_(kinds), order_(order) {
    std::size_t contexts = 1;
    for (std::size_t n = 0; n < order; ++n) contexts *= kinds;
    counts_.resize(contexts * kinds);
    totals_.resize(contexts);
    different_.resize(contexts);
  }

  // The character at `end` - 1 after those before it.
  void add(const std::int64_t* end) {
    const std::size_t context = context_of(end);
    std::uint32_t& count = counts_[context * kinds_ + static_cast<std::size_t>(end[-1])];
    different_[context] += count == 0;
    ++totals_[context];
    ++count;
  }

  double probability(const std::int64_t* end, double lower) const {
    const std::size_t context = context_of(end);
    const double kinds = different_[context], total = totals_[context];
    if (total == 0) return lower;
    const double count = counts_[context * kinds_ + static_cast<std::size_t>(end[-1])];
    return (count + kinds * lower) / (total + kinds);
  }

 private:
  std::size_t context_of(const std::int64_t* end) const {
    std::size_t context = 0;
    for (std::size_t n = order_ + 1; n > 1; --n) {
      context = context * kinds_ + static_cast<std::size_t>(end[-static_cast<std::ptrdiff_t>(n)]);
    }
    return context;
  }

  std::size_t kinds_, order_;
  std::vector<std::uint32_t> counts_, totals_, different_;
};

}  // namespace

std::string_view built_in_text() {
#ifdef QKV_TRAINING_TEXT
  return {qkv_training_text_begin, qkv_training_text_end};
#else
  return {};
#endif
}

std::string CharacterText::spell(std::span<const std::int64_t> ids) const {
  std::string text;
  for (const std::int64_t id : ids) text += characters[static_cast<std::size_t>(id)];
  return text;
}

CharacterText split_text(std::string_view text, const std::string& source) {
  if (text.size() < kShortest) {
    throw usage(fmt::format("{}: {} bytes are too few to learn from; pass {} or more", source,
                            text.size(), kShortest));
  }
  std::array<std::int64_t, 256> id;
  id.fill(-1);
  for (const char c : text) id[static_cast<unsigned char>(c)] = 0;
  CharacterText result;
  for (std::size_t byte = 0; byte < id.size(); ++byte) {
    if (id[byte] < 0) continue;
    id[byte] = result.count();
    result.characters += static_cast<char>(byte);
  }
  const std::size_t learned = text.size() / 10 * 9;
  for (std::size_t n = 0; n < text.size(); ++n) {
    (n < learned ? result.learn : result.check).push_back(id[static_cast<unsigned char>(text[n])]);
  }
  return result;
}

std::string read_text_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  std::array<char, 65536> piece;
  const bool opened = stream.is_open();
  while (stream && text.size() <= kLongest) {
    stream.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
  }
  if (!opened || stream.bad()) {
    throw Failure(kFileTrouble, "--text: " + in_quotes(path) + " can't be read; pass a text file");
  }
  if (text.size() > kLongest) {
    throw Failure(kFileTrouble, "--text: " + in_quotes(path) + " has more than " +
                                    bytes_text(kLongest) + "; pass a part of it");
  }
  return text;
}

double trigram_loss(const CharacterText& text) {
  const auto kinds = static_cast<std::size_t>(text.count());
  std::array<Counts, 3> counts = {Counts(kinds, 0), Counts(kinds, 1), Counts(kinds, 2)};
  for (std::size_t end = 3; end <= text.learn.size(); ++end) {
    for (Counts& of : counts) of.add(text.learn.data() + end);
  }
  // The last two characters of the first part are the context of the first to check.
  std::vector<std::int64_t> checked(text.learn.end() - 2, text.learn.end());
  checked.insert(checked.end(), text.check.begin(), text.check.end());
  double sum = 0;
  for (std::size_t end = 3; end <= checked.size(); ++end) {
    double p = 1.0 / static_cast<double>(kinds);
    for (const Counts& of : counts) p = of.probability(checked.data() + end, p);
    sum -= std::log(p);
  }
  return sum / static_cast<double>(text.check.size());
}

}  // namespace qkv::app
