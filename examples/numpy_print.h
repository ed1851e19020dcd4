// Prints numbers the way NumPy does, for the programs that repeat a NumPy listing.
#ifndef QKV_EXAMPLES_NUMPY_PRINT_H_
#define QKV_EXAMPLES_NUMPY_PRINT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

// np.round(x, decimals).
inline double round_to(double x, int decimals) {
  const double power = std::pow(10.0, decimals);
  return std::nearbyint(x * power) / power;
}

// The shortest text that str() gives for a number rounded to a few decimals: "0.14", "4.28", "1.".
inline std::string shortest(double x, int decimals) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", decimals, round_to(x, decimals));
  std::string s = text;
  while (s.back() == '0') s.pop_back();
  return s;
}

// str(np.round(matrix, decimals)): every number padded on the right to the longest fraction and on
// the left to the longest whole part, as in [[0.14  0.284 0.576]].
inline std::string numpy_string(const float* matrix, std::int64_t rows, std::int64_t columns,
                                int decimals) {
  std::vector<std::string> texts;
  std::size_t whole = 0, fraction = 0;
  for (std::int64_t n = 0; n < rows * columns; ++n) {
    texts.push_back(shortest(matrix[n], decimals));
    const std::size_t point = texts.back().find('.');
    whole = std::max(whole, point);
    fraction = std::max(fraction, texts.back().size() - point - 1);
  }
  std::string out = "[";
  for (std::int64_t r = 0; r < rows; ++r) {
    out += r == 0 ? "[" : "\n [";
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::string& text = texts[static_cast<std::size_t>(r * columns + c)];
      const std::size_t point = text.find('.');
      if (c > 0) out += " ";
      out += std::string(whole - point, ' ') + text +
             std::string(fraction - (text.size() - point - 1), ' ');
    }
    out += "]";
  }
  return out + "]";
}

#endif  // QKV_EXAMPLES_NUMPY_PRINT_H_
