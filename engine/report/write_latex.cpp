// SPDX-License-Identifier: Apache-2.0
//
// LaTeX in the form of the ECIR 2024 paper's Table 3: contenders as columns with their window
// beneath, a block for each length with a row of times and a row of memory per document, the
// baseline underlined and the others' relative difference to it in parentheses. Needs the package
// booktabs.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "engine/report/axes_in_words.h"
#include "engine/report/latex_text.h"
#include "engine/report/number_text.h"
#include "engine/report/writers.h"

namespace attnscope::report {
namespace {

struct Head {
  std::string id, name, window;
};

/// Every contender once, in the order of the rows.
std::vector<Head> heads_of(const Table& table) {
  std::vector<Head> heads;
  for (const Row& row : table.rows) {
    const Contender& contender = row.cell.cell.contender;
    const std::string id = contender.id();
    if (std::ranges::find(heads, id, &Head::id) != heads.end()) continue;
    std::string window = "--";
    if (contender.window) {
      window = contender.window->is_infinite() ? "$\\infty$" : contender.window->text();
    }
    heads.push_back({id, base_name(contender), window});
  }
  return heads;
}

/// Names over neighbours that share them.
std::string name_line(const std::vector<Head>& heads) {
  std::string line;
  for (std::size_t i = 0; i < heads.size();) {
    std::size_t end = i + 1;
    while (end < heads.size() && heads[end].name == heads[i].name) ++end;
    line += fmt::format(" & \\multicolumn{{{}}}{{c}}{{{}}}", end - i, latex_escaped(heads[i].name));
    i = end;
  }
  return line + " \\\\\n";
}

double time_ns(const Row& row) {
  return row.cell.summary.median_ns / documents_of(row);
}
double bytes(const Row& row) {
  return static_cast<double>(peak_bytes(row.cell.cell.memory)) / documents_of(row);
}

class Block {
 public:
  Block(const Table& table, std::span<const Row> rows, const std::vector<Head>& heads)
      : rows_(rows), heads_(heads) {
    for (const Row& row : rows) {
      if (table.baseline && row.cell.cell.contender.id() == *table.baseline && is_measured(row)) {
        baseline_ = &row;
      }
    }
  }

  [[nodiscard]] std::string times() const {
    double least = std::numeric_limits<double>::infinity();
    for (const Row& row : rows_) {
      if (is_measured(row)) least = std::min(least, time_ns(row));
    }
    const bool in_ms = least >= 1e6 && std::isfinite(least);
    std::string line = in_ms ? "ms" : "$\\mu$s";
    for (const Head& head : heads_) {
      const Row* row = find(head);
      line += " & ";
      if (row == nullptr) continue;
      if (!is_measured(*row)) {
        line += latex_escaped(outcome_of(*row).status);
      } else {
        line += marked(*row, time_ns(*row) / (in_ms ? 1e6 : 1e3),
                       row->ratio ? row->ratio->ratio : std::nan(""));
      }
    }
    return line + " \\\\\n";
  }

  [[nodiscard]] std::string memory() const {
    std::string line = "MB";
    for (const Head& head : heads_) {
      const Row* row = find(head);
      line += " & ";
      if (row == nullptr || !is_measured(*row)) continue;
      const bool comparable = baseline_ != nullptr && bytes(*baseline_) > 0;
      line += marked(*row, bytes(*row) / 1e6,
                     comparable ? bytes(*row) / bytes(*baseline_) : std::nan(""));
    }
    return line + " \\\\\n";
  }

 private:
  [[nodiscard]] const Row* find(const Head& head) const {
    const auto found = std::ranges::find_if(
        rows_, [&](const Row& row) { return row.cell.cell.contender.id() == head.id; });
    return found == rows_.end() ? nullptr : &*found;
  }
  [[nodiscard]] std::string marked(const Row& row, double value, double ratio) const {
    const std::string number = three_digits(value);
    if (&row == baseline_) return fmt::format("\\underline{{{}}}", number);
    return number + latex_difference(ratio);
  }

  std::span<const Row> rows_;
  const std::vector<Head>& heads_;
  const Row* baseline_ = nullptr;
};

std::string notes(const Table& table) {
  std::string text;
  for (const Row& row : table.rows) text += latex_notes(row);
  return text;
}

}  // namespace

std::string write_latex(const Table& table) {
  const std::vector<Head> heads = heads_of(table);
  std::vector<bool> varying = varying_axes(table.rows);
  varying[length_axis] = true;
  const std::string fixed =
      table.rows.empty() ? "" : words_of(table.rows.front().cell.point, varying, false);
  std::string text =
      "% needs \\usepackage{booktabs}\n\\begin{table}\n\\centering\n"
      "\\caption{Time and memory per document";
  if (!fixed.empty()) text += " (" + latex_escaped(fixed) + ")";
  text += table.baseline
              ? ". Relative differences to the baseline (underlined) are given in parentheses.}\n"
              : ".}\n";
  text += fmt::format("\\label{{tab:attnscope}}\n\\begin{{tabular}}{{l{}}}\n\\toprule\n",
                      std::string(heads.size(), 'r'));
  text += name_line(heads);
  text += "Unit, $w =$";
  for (const Head& head : heads) text += " & " + head.window;
  text += " \\\\\n";
  const std::span<const Row> rows(table.rows);
  for (std::size_t begin = 0; begin < rows.size();) {
    const HeatPoint& point = rows[begin].cell.point;
    std::size_t end = begin;
    while (end < rows.size() && rows[end].cell.point == point) ++end;
    const Block block(table, rows.subspan(begin, end - begin), heads);
    text += fmt::format("\\midrule\n\\multicolumn{{{}}}{{l}}{{\\emph{{{}}}}} \\\\\n",
                        heads.size() + 1, latex_escaped(words_of(point, varying, true)));
    text += block.times() + block.memory();
    begin = end;
  }
  return text + "\\bottomrule\n\\end{tabular}\n\\par\\smallskip\n{\\footnotesize\n" + notes(table) +
         latex_escaped(provenance_line(table.run)) + "\\par}\n\\end{table}\n";
}

}  // namespace attnscope::report
