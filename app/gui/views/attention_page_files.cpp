// SPDX-License-Identifier: GPL-3.0-or-later
//
// What leaves page Attention: figures, numbers, and the sweep that measures the dump's problem.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "app/gui/session/text.h"
#include "app/gui/views/attention_numbers.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/message_bar.h"
#include "attnscope/build_info.h"

namespace attnscope::gui {
namespace {

constexpr std::int64_t figure_cells = 1024;  // a side: finer than 600 dpi on 42 mm

}  // namespace

QString AttentionPage::caption() const {
  if (!session_.dump()) return {};
  const DumpInfo& info = session_.dump()->info();
  QStringList parts{tr("Attention weights of %1, %2, on %3.")
                        .arg(words(info.model), head_words(),
                             counted(info.layout.tokens(), tr("token"), tr("tokens")))};
  if (!info.note.empty()) parts.append(words(info.note));
  for (const AttentionSide side : {AttentionSide::a, AttentionSide::b}) {
    if (const auto pattern = session_.pattern(side)) {
      parts.append(QStringLiteral("%1: %2.").arg(side == AttentionSide::a ? tr("A") : tr("B"),
                                                 pattern->title()));
    }
  }
  parts.append(tr("Rows attend to columns; where pairs share a dot, the largest."));
  parts.append(
      QStringLiteral("AttnScope %1, commit %2.")
          .arg(QLatin1String(ATTNSCOPE_VERSION), QLatin1String(ATTNSCOPE_GIT_COMMIT).left(12)));
  return parts.join(QLatin1Char(' '));
}

charts::HeatFigure AttentionPage::figure() const {
  charts::HeatFigure figure;
  for (const AttentionSide side : all_sides) {
    const auto& summary = session_.head().side(side).summary;
    if (!is_shown(side) || !summary) continue;
    MapRegion seen = map(side)->seen();
    seen.height = std::min(seen.height, figure_cells);
    seen.width = std::min(seen.width, figure_cells);
    figure.panels.push_back({map(side)->title(), summary->map.pooled(seen), map(side)->scale()});
  }
  if (session_.groups()) figure.groups = *session_.groups();
  if (session_.dump()) figure.tokens = session_.dump()->info().tokens;
  figure.title = tr("Attention weights, %1").arg(head_words()).toStdString();
  figure.provenance = caption().toStdString();
  figure.numbers = write_sheet(numbers_->group_grid(), report::TableFormat::csv);
  return figure;
}

QString AttentionPage::head_words() const {
  const HeadUnderPatterns& head = session_.head();
  return source_->head_model().name_of(head.layer, head.head);
}

void AttentionPage::export_figure() {
  if (!has_figure()) return;
  QString stem = QStringLiteral("attention-") + head_words();
  stem.remove(QLatin1Char(',')).replace(QLatin1Char(' '), QLatin1Char('-'));
  charts::Printable what = charts::printable(figure());
  what.inputs = {session_.file().toStdString()};
  auto* dialog = new FigureDialog(std::move(what), {}, stem, this);
  connect(dialog, &FigureDialog::written, this, [this](const QString& sentence) {
    messages_->show_info(sentence);
    Q_EMIT succeeded(sentence);
  });
  dialog->open();
}

QString AttentionPage::run_words() const {
  return tr("Benchmark…");
}

void AttentionPage::run() {
  Q_EMIT run_asked(session_.dump() ? QString::fromStdString(sweep_text()) : QString());
}

std::string AttentionPage::sweep_text() const {
  const DumpInfo& info = session_.dump()->info();
  const LayoutItem& item = info.layout.item(0);
  nlohmann::ordered_json contenders = {"full/sdpa"};
  nlohmann::ordered_json windows = nlohmann::ordered_json::array();
  std::map<std::string, AttentionPattern> own;  // that the sweep must bring along
  for (const AttentionSide side : {AttentionSide::a, AttentionSide::b}) {
    const auto choice = session_.pattern(side);
    if (!choice) continue;
    const bool built_in = std::ranges::any_of(
        built_in_patterns(), [&](const auto& known) { return known == choice->pattern; });
    const bool name_taken = std::ranges::any_of(
        built_in_patterns(), [&](const auto& known) { return known.name == choice->pattern.name; });
    if (!built_in && name_taken) continue;  // a sweep could not tell the two apart
    if (!built_in) own[choice->pattern.name] = choice->pattern;
    for (const char* implementation : {"segment", "sdpa-mask"}) {
      const std::string contender = choice->pattern.name + "/" + implementation;
      if (std::find(contenders.begin(), contenders.end(), contender) == contenders.end()) {
        contenders.push_back(contender);
      }
    }
    if (!choice->window) continue;
    const nlohmann::ordered_json window = choice->window->is_infinite()
                                              ? nlohmann::ordered_json("inf")
                                              : nlohmann::ordered_json(choice->window->tokens());
    if (std::find(windows.begin(), windows.end(), window) == windows.end())
      windows.push_back(window);
  }
  nlohmann::ordered_json sweep = {{"name", "attention-dump"},
                                  {"operation", "attention"},
                                  {"direction", "forward"},
                                  {"contenders", contenders}};
  for (const auto& [name, pattern] : own) {
    sweep["patterns"].push_back(nlohmann::ordered_json::parse(pattern_json(pattern)));
  }
  if (!windows.empty()) sweep["windows"] = windows;
  // A sweep's query is counted without its [SEP].
  sweep["query_tokens"] = std::max<std::int64_t>(item.query - 1, 0);
  sweep["sequence_tokens"] = nlohmann::ordered_json::array({info.layout.tokens()});
  sweep["batch"] = {{"max", 1}};
  sweep["heads"] = info.heads;
  sweep["head_dim"] = info.head_dim;
  return sweep.dump(2) + "\n";
}

}  // namespace attnscope::gui
