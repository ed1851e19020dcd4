#include "plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "terminal.h"

namespace qkv::app {
namespace {

constexpr double kWidth = 420, kHeight = 326;                       // of a picture
constexpr double kLeft = 58, kRight = 14, kTop = 46, kBottom = 46;  // of its frame
constexpr double kTitle = 18, kLegend = 36;                         // lines above the frame
constexpr double kHeading = 44;
// Okabe and Ito: can be told apart by colour-blind readers too.
constexpr std::array<const char*, 8> kPalette = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#e69f00", "#000000", "#999999"};

const char* colour_of(int number) {
  return kPalette[static_cast<std::size_t>(number) % kPalette.size()];
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : as_utf8(text)) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (static_cast<unsigned char>(c) >= 0x20)
      result += c;
  }
  return result;
}

std::string label(double x, double y, const std::string& text, const char* anchor = "middle",
                  int size = 11, const std::string& more = "") {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\"{}>{}</text>\n", x, y,
      anchor, size, more, escaped(text));
}

std::string rectangle(double x, double y, double width, double height, const std::string& style) {
  return fmt::format("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" {}/>\n", x,
                     y, width, height, style);
}

// Some five numbers in steps of 1, 2 or 5 times a power of ten.
std::vector<double> even_marks(double low, double high) {
  std::vector<double> result;
  const double rough = (high - low) / 5, power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double every = power * (digit < 1.5 ? 1 : digit < 3.5 ? 2 : digit < 7.5 ? 5 : 10);
  for (double at = std::ceil(low / every - 1e-9) * every; at <= high + every * 1e-9; at += every) {
    result.push_back(std::abs(at) < every * 1e-9 ? 0 : at);
  }
  return result;
}

// One axis: numbers to places, and where its marks are.
struct Axis {
  double low, high, from, to;
  bool log;

  double place(double number) const {
    const double at = log ? std::log10(number) : number;
    return from + (at - low) / (high - low) * (to - from);
  }
  bool shows(double number) const { return std::isfinite(number) && (!log || number > 0); }

  // Powers of ten on a logarithmic axis; 2 and 5 times them too over less than two decades; over
  // less than one, even steps, since none of those may lie on it.
  std::vector<double> marks() const {
    if (!log) return even_marks(low, high);
    if (high - low < 1) return even_marks(std::pow(10, low), std::pow(10, high));
    std::vector<double> result;
    const bool few = high - low < 2;
    for (double power = std::floor(low); power <= high + 1e-9; ++power) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double at = power + std::log10(digit);
        if ((digit == 1 || few) && at >= low - 1e-9 && at <= high + 1e-9) {
          result.push_back(std::pow(10, at));
        }
      }
    }
    return result;
  }
};

Axis make_axis(std::vector<double> numbers, bool log, bool from_zero, double from, double to) {
  std::erase_if(numbers, [&](double n) { return !std::isfinite(n) || (log && n <= 0); });
  Axis axis{0, 1, from, to, log};
  if (numbers.empty()) return axis;
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  axis.low = log ? std::log10(*least) : from_zero ? std::min(0.0, *least) : *least;
  axis.high = log ? std::log10(*most) : *most;
  if (axis.high - axis.low < 1e-12) {
    axis.low -= 0.5;
    axis.high += 0.5;
  }
  return axis;
}

std::string mark_text(double number) {
  if (number != 0 && (std::abs(number) >= 1e5 || std::abs(number) < 1e-3)) {
    return fmt::format("{:.0e}", number);
  }
  return fmt::format("{:.6g}", number);
}

std::string frame(const std::string& title, const std::string& x_label,
                  const std::string& y_label) {
  std::string svg = label(kWidth / 2, kTitle, title, "middle", 13, " font-weight=\"600\"");
  svg += label((kLeft + kWidth - kRight) / 2, kHeight - 8, x_label);
  const double middle = (kTop + kHeight - kBottom) / 2;
  svg += label(14, middle, y_label, "middle", 11,
               fmt::format(" transform=\"rotate(-90 14 {:.1f})\"", middle));
  return svg;
}

// One row between title and frame, where it hides no line.
std::string legend(const std::vector<Series>& series) {
  constexpr double kLetter = 6, kDash = 16, kGap = 14;  // of a letter: its width, on average
  double width = -kGap;
  for (const Series& s : series) {
    if (!s.name.empty()) width += kGap + kDash + 4 + kLetter * static_cast<double>(s.name.size());
  }
  std::string svg;
  double x = (kLeft + kWidth - kRight - width) / 2;
  for (const Series& s : series) {
    if (s.name.empty()) continue;
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
        "stroke-width=\"2.5\"{4}/>\n",
        x, x + kDash, kLegend - 4, colour_of(s.colour),
        s.dashed ? " stroke-dasharray=\"4 3\"" : "");
    svg += label(x + kDash + 4, kLegend, s.name, "start");
    x += kGap + kDash + 4 + kLetter * static_cast<double>(s.name.size());
  }
  return svg;
}

std::string draw(const LineChart& chart) {
  std::vector<double> all_x, all_y;
  for (const Series& s : chart.series) {
    all_x.insert(all_x.end(), s.x.begin(), s.x.end());
    all_y.insert(all_y.end(), s.y.begin(), s.y.end());
  }
  const Axis x = make_axis(all_x, chart.log_x, false, kLeft, kWidth - kRight);
  const Axis y = make_axis(all_y, chart.log_y, chart.from_zero, kHeight - kBottom, kTop);
  std::string svg = frame(chart.title, chart.x_label, chart.y_label);
  for (const double mark : x.marks()) {
    const double at = x.place(mark);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}V{:.1f}\" stroke=\"#e4e4e4\"/>\n", at, kTop,
                       kHeight - kBottom);
    svg += label(at, kHeight - kBottom + 15, mark_text(mark));
  }
  for (const double mark : y.marks()) {
    const double at = y.place(mark);
    svg += fmt::format("<path d=\"M{:.1f} {:.1f}H{:.1f}\" stroke=\"#e4e4e4\"/>\n", kLeft, at,
                       kWidth - kRight);
    svg += label(kLeft - 5, at + 4, mark_text(mark), "end");
  }
  for (const Series& s : chart.series) {
    std::string path;
    for (std::size_t n = 0; n < std::min(s.x.size(), s.y.size()); ++n) {
      if (!x.shows(s.x[n]) || !y.shows(s.y[n])) continue;
      const double px = x.place(s.x[n]), py = y.place(s.y[n]);
      if (s.dots) {
        svg += fmt::format(
            "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.75\"/>\n", px,
            py, colour_of(s.colour));
      } else {
        path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', px, py);
      }
    }
    if (!path.empty()) {
      svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{}/>\n",
                         path, colour_of(s.colour), s.dashed ? " stroke-dasharray=\"5 4\"" : "");
    }
  }
  return svg + legend(chart.series);
}

std::string draw(const HeatMap& map) {
  std::string svg = frame(map.title, map.x_label, map.y_label);
  if (map.rows == 0 || map.columns == 0) return svg;
  const double width = kWidth - kLeft - kRight, height = kHeight - kTop - kBottom;
  const double cell =
      std::min(width / static_cast<double>(map.columns), height / static_cast<double>(map.rows));
  const double left = kLeft + (width - cell * static_cast<double>(map.columns)) / 2;
  for (std::size_t row = 0; row < map.rows; ++row) {
    for (std::size_t column = 0; column < map.columns; ++column) {
      const double share = std::clamp(map.shares[row * map.columns + column], 0.0, 1.0);
      if (share < 0.01) continue;
      svg += rectangle(left + cell * static_cast<double>(column),
                       kTop + cell * static_cast<double>(row), cell, cell,
                       fmt::format("fill=\"#0072b2\" fill-opacity=\"{:.2f}\"", share));
    }
  }
  svg += rectangle(left, kTop, cell * static_cast<double>(map.columns),
                   cell * static_cast<double>(map.rows), "fill=\"none\" stroke=\"#888\"");
  for (std::size_t row = 0; row < map.row_names.size(); ++row) {
    svg += label(left - 4, kTop + cell * (static_cast<double>(row) + 0.5) + 3, map.row_names[row],
                 "end", static_cast<int>(std::clamp(cell, 5.0, 11.0)), " xml:space=\"preserve\"");
  }
  for (std::size_t column = 0; column < map.column_names.size(); ++column) {
    svg +=
        label(left + cell * (static_cast<double>(column) + 0.5),
              kTop + cell * static_cast<double>(map.rows) + 10, map.column_names[column], "middle",
              static_cast<int>(std::clamp(cell, 5.0, 11.0)), " xml:space=\"preserve\"");
  }
  return svg;
}

std::string draw(const ScenePicture& scene) {
  std::string svg = label(kWidth / 2, kTitle, scene.title, "middle", 13, " font-weight=\"600\"");
  const double size = kHeight - kTop - 14, left = (kWidth - size) / 2;
  const auto x = [&](std::size_t n) { return left + size * scene.points[n].x; };
  const auto y = [&](std::size_t n) { return kTop + size * (1 - scene.points[n].y); };
  svg += rectangle(left, kTop, size, size, "fill=\"none\" stroke=\"#ccc\"");
  for (const ScenePicture::Look& look : scene.looks) {
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-width=\"{:.2f}\" "
        "stroke-opacity=\"{:.2f}\" stroke-linecap=\"round\"/>\n",
        x(look.from), y(look.from), x(look.to), y(look.to), colour_of(look.colour),
        0.4 + 4.6 * look.share, std::min(1.0, 0.15 + look.share));
  }
  for (std::size_t n = 0; n < scene.points.size(); ++n) {
    const char* colour = colour_of(scene.points[n].colour);
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\" stroke=\"{}\" "
        "stroke-width=\"1.5\"/>\n",
        x(n), y(n), scene.points[n].filled ? colour : "#fff", colour);
  }
  return svg;
}

}  // namespace

std::string svg_page(const std::string& heading, const std::vector<Picture>& pictures,
                     std::size_t columns) {
  const std::size_t rows = (pictures.size() + columns - 1) / columns;
  const double width = kWidth * static_cast<double>(columns) + 20;
  const double height = kHeading + kHeight * static_cast<double>(rows) + 10;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" font-family=\"system-ui, sans-serif\" fill=\"#222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, height);
  svg += label(width / 2, 28, heading, "middle", 17, " font-weight=\"600\"");
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    const std::size_t row = n / columns, column = n % columns;
    svg += fmt::format("<g transform=\"translate({:.0f} {:.0f})\">\n",
                       10 + kWidth * static_cast<double>(column),
                       kHeading + kHeight * static_cast<double>(row));
    svg += std::visit([](const auto& picture) { return draw(picture); }, pictures[n]);
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

std::vector<double> steps_of(const std::vector<float>& like, double every) {
  std::vector<double> steps(like.size());
  for (std::size_t n = 0; n < steps.size(); ++n) steps[n] = every * static_cast<double>(n + 1);
  return steps;
}

Series smoothed(const std::string& name, const std::vector<float>& numbers, int colour,
                double every, std::size_t points) {
  Series series;
  series.name = name;
  series.colour = colour;
  const std::size_t length = std::max<std::size_t>(1, numbers.size() / points);
  for (std::size_t begin = 0; begin + length <= numbers.size(); begin += length) {
    double sum = 0;
    for (std::size_t n = begin; n < begin + length; ++n) sum += static_cast<double>(numbers[n]);
    series.x.push_back(every * static_cast<double>(begin + length));
    series.y.push_back(sum / static_cast<double>(length));
  }
  return series;
}

}  // namespace qkv::app
