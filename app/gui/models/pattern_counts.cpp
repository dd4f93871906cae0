// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_counts.h"

#include <QCoreApplication>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/text.h"
#include "engine/pattern/compile_plan.h"
#include "engine/report/table.h"
#include "engine/sweep/sweep.h"
#include "kernels/plan/counts.h"

namespace attnscope::gui {
namespace {

QString tr_cost(const char* text) {
  return QCoreApplication::translate("attnscope::gui::PatternCounts", text);
}

/// A counted quantity, computed from the counts of one side.
struct Quantity {
  const char *title, *meaning;
  CostRow::Value (*value)(const PatternCounts& counts);
};

CostRow::Value counted_value(double count) {
  return {.number = count, .text = count_text(count)};
}

constexpr Quantity quantities[] = {
    {"Tokens", "[CLS], query and documents of one item",
     [](const PatternCounts& counts) { return counted_value(counts.tokens); }},
    {"Allowed pairs",
     "Allowed pairs of one head, counted from its plan: the key ranges that each query attends to",
     [](const PatternCounts& counts) { return counted_value(counts.pairs); }},
    {"Share of all pairs", "Allowed pairs over all pairs",
     [](const PatternCounts& counts) -> CostRow::Value {
       return {.number = counts.density,
               .text = QString::number(counts.density * 100, 'g', counts.density < 0.1 ? 2 : 3) +
                       QStringLiteral(" %")};
     }},
    {"Useful FLOP", "Two products over the allowed pairs of all heads: 4 · head dimension per pair",
     [](const PatternCounts& counts) { return counted_value(counts.flop); }},
    {"Share of full attention", "Share of full attention's FLOP",
     [](const PatternCounts& counts) -> CostRow::Value {
       if (!(counts.flop > 0)) return {};
       const QString share = QString::number(counts.full_flop / counts.flop, 'f', 1);
       return {.number = counts.flop / counts.full_flop, .text = QStringLiteral("1 / ") + share};
     }},
    {"Exponentials", "One per pair and head, in the softmax",
     [](const PatternCounts& counts) { return counted_value(counts.exponentials); }},
    {"Least bytes", "float32 q, k, v read once and o written once",
     [](const PatternCounts& counts) -> CostRow::Value {
       return {.number = counts.bytes, .text = qstring(report::format_bytes(counts.bytes))};
     }}};

CostRow::Value limit_value(const PatternCounts& counts, const MachineCeilings& machine) {
  const PatternLimit least = limit_of(counts, machine);
  return {.number = least.ms,
          .text = qstring(report::format_time(least.ms * 1e6)),
          .note = tr_cost("Bound by %1; rates of %2").arg(least.by, machine.from)};
}

CostRow::Value executed_value(const CountedPattern& side, const QString& id) {
  const auto found = std::ranges::find(side.implementations, id, &EstimatedCost::id);
  if (found == side.implementations.end() || !side.counts) return {};
  if (!found->reason.isEmpty()) return {.note = found->reason};
  const double useful = side.counts->flop;
  const double over_useful = useful > 0 ? found->executed_flop / useful : 0;
  return {
      .number = over_useful,
      .text = times_text(over_useful),
      .note =
          tr_cost(
              "Executes %1 FLOP for %2 useful FLOP and needs %3 in addition to inputs and outputs")
              .arg(count_text(found->executed_flop), count_text(useful),
                   qstring(report::format_bytes(found->peak_bytes)))};
}

}  // namespace

// Every head has the same number of pairs: block patterns draw other blocks, but as many.
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

PatternLimit limit_of(const PatternCounts& counts, const MachineCeilings& machine) {
  const CellWork arithmetic{.useful_flop = counts.flop};
  const CellWork memory{.least_bytes = counts.bytes};
  const CellWork exponentials{.exponentials = counts.exponentials};
  const std::pair<double, QString> limits[] = {
      {limit_ns(arithmetic, machine.rates), tr_cost("arithmetic")},
      {limit_ns(memory, machine.rates), tr_cost("memory")},
      {limit_ns(exponentials, machine.rates), tr_cost("exponentials")}};
  const auto& [ns, by] = *std::ranges::max_element(limits, {}, &std::pair<double, QString>::first);
  return {ns / 1e6, by};
}

std::vector<CostRow> cost_rows(const CountedPattern& a, const std::optional<CountedPattern>& b,
                               const std::optional<MachineCeilings>& machine) {
  std::vector<CostRow> rows;
  const auto add = [&](const QString& title, const QString& meaning, const auto& value_of) {
    CostRow row{.title = title, .meaning = meaning, .a = value_of(a), .b = {}, .ratio = {}};
    if (b) row.b = value_of(*b);
    row.ratio.note = tr_cost("A over B");
    if (row.a.number && row.b.number && *row.b.number > 0) {
      row.ratio.text = times_text(*row.a.number / *row.b.number);
    }
    rows.push_back(std::move(row));
  };
  for (const Quantity& quantity : quantities) {
    add(tr_cost(quantity.title), tr_cost(quantity.meaning), [&](const CountedPattern& side) {
      return side.counts ? quantity.value(*side.counts) : CostRow::Value();
    });
  }
  add(tr_cost("Machine limit"),
      machine
          ? tr_cost("No forward call can be faster on this machine; rates of %1").arg(machine->from)
          : tr_cost("A run measures the ceilings of this machine: start a run to see the limit"),
      [&](const CountedPattern& side) {
        return side.counts && machine ? limit_value(*side.counts, *machine) : CostRow::Value();
      });
  QStringList ids;
  for (const CountedPattern* side : {&a, b ? &*b : nullptr}) {
    if (!side) continue;
    for (const EstimatedCost& cost : side->implementations) {
      if (!ids.contains(cost.id)) ids.append(cost.id);
    }
  }
  for (const QString& id : ids) {
    add(tr_cost("%1 over useful").arg(id),
        tr_cost("FLOP that the implementation reports to execute, over the useful FLOP"),
        [&](const CountedPattern& side) { return executed_value(side, id); });
  }
  return rows;
}

report::Sheet sheet_of(const std::vector<CostRow>& rows, const QString& corner, bool with_b) {
  report::Sheet sheet{.columns = {{corner.toStdString(), corner.toStdString(), false}, {"A", "A"}}};
  if (with_b) sheet.columns.insert(sheet.columns.end(), {{"B", "B"}, {"A / B", "A / B"}});
  for (const CostRow& row : rows) {
    std::vector<report::SheetCell> cells{row.title.toStdString(), row.a.text.toStdString()};
    if (with_b) {
      cells.emplace_back(row.b.text.toStdString());
      cells.emplace_back(row.ratio.text.toStdString());
    }
    sheet.add(std::move(cells));
  }
  return sheet;
}

QString count_text(double count) {
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

QString times_text(double ratio) {
  const int digits = ratio < 10 ? 2 : (ratio < 100 ? 1 : 0);
  return (ratio < 1e4 ? QString::number(ratio, 'f', digits) : count_text(ratio)) +
         QStringLiteral("×");
}

namespace {

using nlohmann::ordered_json;

constexpr const char* full_attention = "full/sdpa";

/// Null if no pattern of that name is shipped.
const AttentionPattern* shipped(const std::string& name) {
  const auto found = std::ranges::find(built_in_patterns(), name, &AttentionPattern::name);
  return found == built_in_patterns().end() ? nullptr : &*found;
}

/// A quarter, a half, once and twice the item's tokens, at least the minimum for its groups.
ordered_json lengths_around(const LayoutItem& item, std::int64_t tokens) {
  const std::int64_t least = 1 + std::max<std::int64_t>(item.query, 1) +
                             2 * static_cast<std::int64_t>(item.documents.size());
  ordered_json lengths = ordered_json::array();
  std::int64_t last = 0;
  for (const std::int64_t length : {tokens / 4, tokens / 2, tokens, 2 * tokens}) {
    const std::int64_t long_enough = std::max(length, least);
    if (long_enough > last) lengths.push_back(long_enough);
    last = std::max(last, long_enough);
  }
  return lengths;
}

void add_once(ordered_json& list, ordered_json entry) {
  if (std::ranges::find(list, entry) == list.end()) list.push_back(std::move(entry));
}

/// Adds a pattern's contenders, its window and, unless it is shipped, the pattern itself.
void add_source(ordered_json& sweep, const charts::MaskSource& source,
                const QStringList& implementations) {
  AttentionPattern pattern = source.pattern;
  const AttentionPattern* same_name = shipped(pattern.name);
  const bool ships = same_name != nullptr && *same_name == pattern;
  if (same_name != nullptr && !ships) pattern.name += "-own";
  if (!ships) add_once(sweep["patterns"], ordered_json::parse(pattern_json(pattern)));
  for (const QString& id : implementations) {
    add_once(sweep["contenders"], pattern.name + "/" + id.toStdString());
  }
  if (!source.window) return;
  const Window window = *source.window;
  add_once(sweep["windows"],
           window.is_infinite() ? ordered_json("inf") : ordered_json(window.tokens()));
}

}  // namespace

Result<QString> sweep_of(const SweepRequest& request) {
  const auto layout = SequenceLayout::make({request.item});
  if (!layout) return tl::unexpected(layout.error());
  const bool with_sentences = std::ranges::any_of(
      request.sources, [](const auto& source) { return source.pattern.has_sentences(); });
  if (request.item.sentences_given && with_sentences) {
    return fail(
        "A sweep supports sentence starts at regular distances, but no list of them; choose "
        "\"every\" to measure the pattern.");
  }
  if (request.implementations.isEmpty()) {
    return fail("No implementation on this machine supports the pattern at this length.");
  }
  ordered_json sweep;
  sweep["name"] = request.name;
  for (const charts::MaskSource& source : request.sources) {
    add_source(sweep, source, request.implementations);
  }
  add_once(sweep["contenders"], full_attention);
  // A sweep's query length excludes its [SEP].
  sweep["query_tokens"] = std::max<std::int64_t>(request.item.query - 1, 0);
  sweep["sequence_tokens"] = request.other_lengths ? lengths_around(request.item, layout->tokens())
                                                   : ordered_json::array({layout->tokens()});
  sweep["documents"] = std::max<std::size_t>(request.item.documents.size(), 1);
  sweep["batch"] = {{"max", 1}};
  sweep["heads"] = request.heads;
  sweep["head_dim"] = request.head_dim;
  const std::string text = sweep.dump(2);
  if (const auto checked = parse_sweep(text, "sweep"); !checked) {
    return tl::unexpected(checked.error());
  }
  return qstring(text);
}

}  // namespace attnscope::gui
