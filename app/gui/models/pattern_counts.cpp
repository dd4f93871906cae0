// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_counts.h"

#include <QCoreApplication>
#include <algorithm>
#include <utility>

#include "engine/pattern/compile_plan.h"
#include "kernels/plan/counts.h"

namespace attnscope::gui {
namespace {

constexpr std::int64_t quick_tokens = 20'000;

}  // namespace

// Every head has as many pairs as the first: block patterns draw other blocks, but as many.
Result<PatternCounts> count_pattern(const charts::MaskSource& source, const LayoutItem& item,
                                    int heads, int head_dim) {
  const Result<SequenceLayout> layout = SequenceLayout::make({item});
  if (!layout) return tl::unexpected(layout.error());
  const Result<AttentionPlan> plan =
      compile_plan(source.pattern, source.window, *layout, /*heads=*/1);
  if (!plan) return tl::unexpected(plan.error());
  const attnscope::PlanCounts of_head = count(*plan);
  PatternCounts counts;
  counts.tokens = static_cast<double>(layout->tokens());
  counts.pairs = static_cast<double>(of_head.pairs);
  const double all_pairs = counts.tokens * counts.tokens;
  counts.density = all_pairs > 0 ? counts.pairs / all_pairs : 0;
  counts.flop = heads * useful_flop(of_head, head_dim);
  counts.full_flop = 4.0 * head_dim * heads * all_pairs;
  counts.exponentials = heads * useful_exponentials(of_head);
  counts.bytes = heads * least_bytes(*plan, head_dim, DType::float32);
  return counts;
}

bool is_quickly_counted(const charts::MaskSource& source, const LayoutItem& item) {
  std::int64_t tokens = item.cls + item.query;
  for (const std::int64_t document : item.documents) tokens += document;
  const std::int64_t work =
      source.pattern.blocks ? tokens * (1 + source.pattern.blocks->random) : tokens;
  return work <= quick_tokens;
}

PatternLimit limit_of(const PatternCounts& counts, const MachineCeilings& machine) {
  const CellWork arithmetic{.useful_flop = counts.flop};
  const CellWork memory{.least_bytes = counts.bytes};
  const CellWork exponentials{.exponentials = counts.exponentials};
  const auto words = [](const char* text) {
    return QCoreApplication::translate("attnscope::gui::PatternCounts", text);
  };
  const std::pair<double, QString> limits[] = {
      {limit_ns(arithmetic, machine.rates), words("arithmetic")},
      {limit_ns(memory, machine.rates), words("memory")},
      {limit_ns(exponentials, machine.rates), words("exponentials")}};
  const auto& [ns, by] = *std::ranges::max_element(limits, {}, &std::pair<double, QString>::first);
  return {ns / 1e6, by};
}

QString count_words(double count) {
  static constexpr std::pair<double, const char*> scales[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}};
  for (const auto& [scale, letter] : scales) {
    if (count < scale) continue;
    const double unit = scale == 1e4 ? 1e3 : scale;
    const double value = count / unit;
    return QStringLiteral("%1 %2").arg(
        QString::number(value, 'f', value < 10 ? 2 : (value < 100 ? 1 : 0)), QLatin1String(letter));
  }
  return QString::number(count, 'f', 0);
}

QString times_words(double ratio) {
  const int digits = ratio < 10 ? 2 : (ratio < 100 ? 1 : 0);
  return (ratio < 1e4 ? QString::number(ratio, 'f', digits) : count_words(ratio)) +
         QStringLiteral("×");
}

}  // namespace attnscope::gui
