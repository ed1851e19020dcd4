// Pictures of results as SVG: line charts, heat maps and scenes of points, side by side.
#ifndef QKV_APPS_QKV_PLOT_H_
#define QKV_APPS_QKV_PLOT_H_

#include <string>
#include <variant>
#include <vector>

namespace qkv::app {

struct Series {
  std::string name;  // in the legend; "" for none
  std::vector<double> x, y;
  int colour = 0;  // of the palette; series of one kind share it
  bool dashed = false, dots = false;
};

struct LineChart {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  bool log_x = false, log_y = false;  // numbers that aren't above 0 are left out then
  bool from_zero = true;              // does the y axis begin at 0? Not with log_y
};

// Numbers 0 to 1 as shades, row by row.
struct HeatMap {
  std::string title, x_label, y_label;
  std::size_t rows = 0, columns = 0;
  std::vector<double> shares;
  std::vector<std::string> row_names, column_names;  // may be empty
};

// Points in the unit square, and what they look at.
struct ScenePicture {
  std::string title;
  struct Point {
    double x, y;
    int colour;
    bool filled;
  };
  struct Look {
    std::size_t from, to;
    double share;  // 0 to 1: how thick and dark
    int colour;
  };
  std::vector<Point> points;
  std::vector<Look> looks;
};

using Picture = std::variant<LineChart, HeatMap, ScenePicture>;

// One SVG document: a heading, and the pictures in rows of `columns`.
std::string svg_page(const std::string& heading, const std::vector<Picture>& pictures,
                     std::size_t columns);

// The numbers 1, 2, ... times `every`, as many as `like` has.
std::vector<double> steps_of(const std::vector<float>& like, double every = 1);
// Means of about `points` stretches of equal length, so that noisy curves can be read.
Series smoothed(const std::string& name, const std::vector<float>& numbers, int colour,
                double every = 1, std::size_t points = 100);

}  // namespace qkv::app

#endif  // QKV_APPS_QKV_PLOT_H_
