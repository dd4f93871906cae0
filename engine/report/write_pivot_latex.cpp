// SPDX-License-Identifier: Apache-2.0
//
// A pivot as LaTeX (booktabs), in the manner of the ECIR 2024 paper's Table 3: the baseline
// underlined, the others' relative difference in parentheses, a rule and a heading before each
// block. Numbers that are to be compared have one unit.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/report/latex_text.h"
#include "engine/report/number_text.h"
#include "engine/report/pivot_words.h"
#include "engine/report/slice.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

struct Unit {
  std::string_view latex;
  double size;  // in ns or bytes
};
constexpr Unit milliseconds{"ms", 1e6}, microseconds{"$\\mu$s", 1e3}, megabytes{"MB", 1e6};

double least_of(const PivotLine& line) {
  double least = std::numeric_limits<double>::infinity();
  for (const PivotCell& cell : line.cells) least = std::min(least, cell.value.value_or(least));
  return least;
}

const Unit& unit_of_time(double least) {
  return least >= 1e6 && std::isfinite(least) ? milliseconds : microseconds;
}

const Unit& unit_of_times(const Pivot& pivot) {
  double least = std::numeric_limits<double>::infinity();
  for (const PivotBlock& block : pivot.blocks) {
    for (const PivotLine& line : block.lines) {
      if (line.quantity == Quantity::time) least = std::min(least, least_of(line));
    }
  }
  return unit_of_time(least);
}

/// Whether a line's cells are what is compared: then, with a unit beside each line, each may have
/// its own, as the paper's passages are in microseconds and its documents in milliseconds.
bool compares_along_lines(const Pivot& pivot) {
  return pivot.choice.cells.size() > 1 && pivot.choice.columns == "contender";
}

class Writer {
 public:
  Writer(const Table& table, const Pivot& pivot)
      : table_(table), pivot_(pivot), time_(unit_of_times(pivot)) {}

  [[nodiscard]] std::string write() const {
    std::string text = "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n\\caption{" +
                       caption() + "}\n\\label{tab:attnscope}\n";
    text += fmt::format("\\begin{{tabular}}{{{}{}}}\n\\toprule\n", several() ? "ll" : "l",
                        std::string(pivot_.columns.size(), 'r'));
    text += heads();
    for (const PivotBlock& block : pivot_.blocks) {
      text += "\\midrule\n";
      if (!block.words.empty()) {
        text += fmt::format("\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n",
                            labels() + pivot_.columns.size(), latex_escaped(block.words));
      }
      text += lines(block);
    }
    text += "\\bottomrule\n\\end{tabular}\n\\par\\smallskip\n{\\footnotesize\n";
    for (const Row* row : rows_shown(table_, pivot_)) text += latex_notes(*row);
    return text + latex_escaped(provenance_line(table_.run)) + "\\par}\n\\end{table}\n";
  }

 private:
  [[nodiscard]] bool several() const { return pivot_.choice.cells.size() > 1; }
  [[nodiscard]] std::size_t labels() const { return several() ? 2 : 1; }

  [[nodiscard]] const Unit& time_unit(const PivotLine& line) const {
    return compares_along_lines(pivot_) ? unit_of_time(least_of(line)) : time_;
  }

  [[nodiscard]] static std::string_view unit_of(Quantity quantity, const Unit& time) {
    switch (quantity) {
      case Quantity::time:
        return time.latex;
      case Quantity::memory:
        return megabytes.latex;
      case Quantity::limit:
        return "\\%";
      case Quantity::executed:
        return "$\\times$";
      default:
        return {};
    }
  }

  [[nodiscard]] std::string caption() const {
    std::string text = quantities_in_words(table_, pivot_);
    // In parentheses and underlined is said once, as the paper says it.
    if (const std::size_t comma = text.find(", in parentheses"); comma != std::string::npos) {
      text.resize(comma);
    }
    std::string caption = latex_escaped(text);
    if (!caption.empty()) caption[0] = static_cast<char>(std::toupper(caption[0]));
    if (!several()) {
      const std::string_view unit = unit_of(pivot_.choice.cells.front(), time_);
      if (!unit.empty()) caption += fmt::format(", in {}", unit);
    }
    if (!pivot_.title.empty()) caption += " (" + latex_escaped(pivot_.title) + ")";
    caption += ".";
    if (table_.baseline) {
      caption += " Relative differences to the baseline (underlined) are given in parentheses.";
    }
    return caption;
  }

  [[nodiscard]] std::string heads() const {
    std::string line = latex_escaped(axis_name(pivot_.choice.rows));
    if (several()) line += " & Unit";
    if (pivot_.choice.columns != "contender") {
      for (const PivotHead& column : pivot_.columns) {
        line += " & " + marked(latex_escaped(column.words), column.is_baseline);
      }
      return line + " \\\\\n";
    }
    for (std::size_t i = 0; i < pivot_.columns.size();) {
      std::size_t end = i + 1;
      while (end < pivot_.columns.size() &&
             pivot_.columns[end].contender == pivot_.columns[i].contender) {
        ++end;
      }
      line += fmt::format(" & \\multicolumn{{{}}}{{c}}{{{}}}", end - i,
                          latex_escaped(pivot_.columns[i].contender));
      i = end;
    }
    line += " \\\\\n" + std::string(several() ? " & " : "") + "$w =$";
    for (const PivotHead& column : pivot_.columns) line += " & " + window(column);
    return line + " \\\\\n";
  }

  [[nodiscard]] static std::string window(const PivotHead& head) {
    if (head.window.empty()) return "--";
    return head.window == "inf" ? "$\\infty$" : head.window;
  }

  [[nodiscard]] static std::string marked(const std::string& text, bool is_baseline) {
    return is_baseline ? fmt::format("\\underline{{{}}}", text) : text;
  }

  [[nodiscard]] std::string lines(const PivotBlock& block) const {
    std::string text;
    const PivotLine* before = nullptr;
    for (const PivotLine& line : block.lines) {
      const PivotHead& head = pivot_.rows[line.head];
      const bool again = before != nullptr && before->head == line.head;
      if (!again) text += marked(latex_escaped(head.words), head.is_baseline);
      if (several()) text += fmt::format(" & {}", unit_of(line.quantity, time_unit(line)));
      for (const PivotCell& one : line.cells) {
        text.append(" & ").append(cell(one, line.quantity, time_unit(line)));
      }
      text += " \\\\\n";
      before = &line;
    }
    return text;
  }

  [[nodiscard]] static std::string cell(const PivotCell& cell, Quantity quantity,
                                        const Unit& time) {
    if (!cell.value) return latex_escaped(cell.text);
    switch (quantity) {
      case Quantity::time:
        return number(*cell.value / time.size, cell);
      case Quantity::memory:
        return number(*cell.value / megabytes.size, cell);
      case Quantity::ratio: {
        if (cell.is_baseline) return marked("1", true);
        std::string difference = latex_difference(*cell.value);
        std::erase(difference, '(');
        std::erase(difference, ')');
        return difference + ", " + std::string(cell.verdict ? name_of(*cell.verdict) : "");
      }
      case Quantity::limit:
        return number(*cell.value * 100, cell);
      case Quantity::executed:
        return number(*cell.value, cell);
      case Quantity::error:
        break;
    }
    return power_of_ten(*cell.value);
  }

  [[nodiscard]] static std::string number(double value, const PivotCell& cell) {
    const std::string text = marked(three_digits(value), cell.is_baseline);
    return cell.ratio ? text + latex_difference(*cell.ratio) : text;
  }

  /// "$3.0 \cdot 10^{-7}$".
  [[nodiscard]] static std::string power_of_ten(double value) {
    const std::string text = fmt::format("{:.1e}", value);
    const std::size_t e = text.find('e');
    if (e == std::string::npos) return latex_escaped(text);
    return fmt::format("${} \\cdot 10^{{{}}}$", text.substr(0, e), std::stoi(text.substr(e + 1)));
  }

  const Table& table_;
  const Pivot& pivot_;
  const Unit& time_;
};

}  // namespace

std::string write_pivot_latex(const Table& table, const Pivot& pivot) {
  return Writer(table, pivot).write();
}

}  // namespace attnscope::report
