// SPDX-License-Identifier: Apache-2.0
#include "engine/report/pivot_words.h"

#include <algorithm>
#include <array>
#include <set>

namespace attnscope::report {
namespace {

struct Words {
  std::string_view brief, full;
};

constexpr std::array<Words, 6> words{{
    {"time/doc", "time per document"},
    {"mem/doc", "memory per document"},
    {"vs base", "time against the baseline's"},
    {"of limit", "share of the machine's limit"},
    {"error", "error against the float64 reference"},
    {"executed", "executed over useful products"},
}};

const Words& words_of(Quantity quantity) {
  return words[static_cast<std::size_t>(quantity)];
}

}  // namespace

std::string_view short_name(Quantity quantity) {
  return words_of(quantity).brief;
}

std::string quantities_in_words(const Table& table, const Pivot& pivot) {
  std::string text;
  bool in_parentheses = false, of_baseline = false;
  for (const Quantity quantity : pivot.choice.cells) {
    text += (text.empty() ? "" : ", ") + std::string(words_of(quantity).full);
    if (quantity == Quantity::time || quantity == Quantity::memory) in_parentheses = true;
    if (quantity == Quantity::ratio) of_baseline = true;
  }
  if (!table.baseline) return text;
  if (in_parentheses) return text + ", in parentheses the difference to " + *table.baseline;
  return of_baseline ? text + ", " + *table.baseline : text;
}

std::string head_words(const PivotHead& head) {
  return head.is_baseline ? head.words + " (baseline)" : head.words;
}

std::vector<const Row*> rows_shown(const Table& table, const Pivot& pivot) {
  std::vector<const Row*> rows;
  std::set<std::size_t> seen;
  for (const PivotBlock& block : pivot.blocks) {
    for (const PivotLine& line : block.lines) {
      for (const PivotCell& cell : line.cells) {
        if (cell.row && seen.insert(*cell.row).second) rows.push_back(&table.rows[*cell.row]);
      }
    }
  }
  return rows;
}

}  // namespace attnscope::report
