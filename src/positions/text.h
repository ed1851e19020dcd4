// Numbers in messages.
#ifndef QKV_POSITIONS_TEXT_H_
#define QKV_POSITIONS_TEXT_H_

#include <array>
#include <cstdio>
#include <string>

namespace qkv {

inline std::string number_text(double number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%g", number);
  return text.data();
}

}  // namespace qkv

#endif  // QKV_POSITIONS_TEXT_H_
