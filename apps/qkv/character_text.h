// A text as numbers of its characters, split for learning and for checking; and how well counts of
// three characters predict it.
#ifndef QKV_APPS_QKV_CHARACTER_TEXT_H_
#define QKV_APPS_QKV_CHARACTER_TEXT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::app {

// The book built into the command: apps/qkv/text/README.md.
std::string_view built_in_text();

struct CharacterText {
  std::string characters;                  // the different ones, sorted by byte
  std::vector<std::int64_t> learn, check;  // the first nine tenths, and the rest

  std::int64_t count() const { return static_cast<std::int64_t>(characters.size()); }
  std::string spell(std::span<const std::int64_t> ids) const;
};

// Bytes as characters. Throws a Failure if the text is too short to split (under 4096 bytes).
CharacterText split_text(std::string_view text, const std::string& source);

// The file whole. Throws a Failure.
std::string read_text_file(const std::string& path);

// Mean of -log p over the last part of `text`, in nats a character, by counts of one, two and three
// characters of the first part, smoothed as Witten and Bell do: p(c|ab) = (n(abc) + t(ab) p(c|b)) /
// (n(ab) + t(ab)), with t(ab) the number of different characters seen after ab.
double trigram_loss(const CharacterText& text);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_CHARACTER_TEXT_H_
