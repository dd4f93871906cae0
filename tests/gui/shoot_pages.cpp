// SPDX-License-Identifier: Apache-2.0
#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "app/gui/charts/figure_table.h"
#include "app/gui/charts/map_view.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_page.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/page.h"
#include "app/gui/views/patterns_page.h"
#include "engine/report/answer.h"
#include "engine/report/run_figures.h"
#include "engine/safetensors/safetensors.h"
#include "engine/store/store.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/screenshots.h"

namespace attnscope::gui {
namespace {

/// 4096 tokens, one layer of 12 heads whose queries and keys turn with the position: bands of
/// several widths.
QString long_dump(const QTemporaryDir& folder) {
  constexpr std::int64_t tokens = 4096;
  constexpr std::int64_t heads = 12;
  constexpr std::int64_t dim = 16;
  std::vector<float> q(tokens * heads * dim);
  std::mt19937 random(3);
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t d = 0; d < dim; d += 2) {
        const double rate = std::pow(2.0, -static_cast<double>(d) / 2 - static_cast<double>(h) / 3);
        const auto at = static_cast<std::size_t>((i * heads + h) * dim + d);
        const double angle = rate * static_cast<double>(i);
        const double noise = static_cast<double>(random() % 1000) / 1000 - 0.5;
        q[at] = static_cast<float>(1.6 * std::cos(angle) + noise);
        q[at + 1] = static_cast<float>(1.6 * std::sin(angle) + noise);
      }
    }
  }
  nlohmann::json texts = {"[CLS]", "what", "turns", "with", "its", "place", "[SEP]"};
  const char* sentence[] = {"a", "word", "that", "stands", "for", "itself", "##s", "."};
  while (texts.size() + 1 < tokens) texts.push_back(sentence[texts.size() % std::size(sentence)]);
  texts.push_back("[SEP]");
  const QString file = folder.filePath(u"long.safetensors"_s);
  std::vector<NamedTensor> tensors;
  for (const char* part : {"q", "k", "v"})
    tensors.push_back({std::string("layer.0.") + part, {tokens, heads, dim}, q});
  const Status written = write_safetensors(
      file.toStdString(), tensors,
      {.metadata = {{"attnscope_dump", "1"},
                    {"model", "bands of positions"},
                    {"note", "Made up for the screenshots; no model."},
                    {"layout", R"({"items": [{"cls": 1, "query": 6, "document": 4089}]})"},
                    {"tokens", texts.dump()},
                    {"pattern", "full"},
                    {"scale", "1"}}});
  return written ? file : QString();
}

/// The regions of a document of 700 words, of which three are relevant.
QString regions_file(const QTemporaryDir& folder) {
  constexpr std::int64_t words = 700, read = 690, regions = 346, query = 3, counted = 15;
  const char* sentence[] = {"a", "long", "text", "tells", "of",   "many",  "things",
                            ",", "some", "of",   "which", "were", "asked", "for",
                            ".", "most", "of",   "them",  "were", "not",   "."};
  nlohmann::json document;
  for (std::int64_t i = 0; i < words; ++i)
    document.push_back(sentence[static_cast<std::size_t>(i) % std::size(sentence)]);
  const std::int64_t best[] = {40, 128, 210};
  for (const std::int64_t region : best) {
    document[static_cast<std::size_t>(2 * region + 9)] = "kernel";
    document[static_cast<std::size_t>(2 * region + 10)] = "pooling";
  }
  std::vector<float> scores(regions), numbers(counted), unmatched(counted), weights(counted),
      shares(counted * query * 11), score(1);
  for (std::size_t r = 0; r < scores.size(); ++r) {
    scores[r] = -8.0F + 0.3F * std::sin(0.2F * static_cast<float>(r));
    for (const std::int64_t region : best) {
      const double away = static_cast<double>(static_cast<std::int64_t>(r) - region) / 6;
      scores[r] += 3 * static_cast<float>(std::exp(-away * away));
    }
  }
  const std::int64_t alongside[] = {0, -1, 1, -2, 2};
  for (std::size_t i = 0; i < counted; ++i) {
    const std::int64_t region = best[i % 3] + alongside[i / 3];
    numbers[i] = static_cast<float>(region);
    weights[i] = 0.3F / static_cast<float>(1 + i);
    score[0] += weights[i] * scores[static_cast<std::size_t>(region)];
    unmatched[i] = scores[static_cast<std::size_t>(region)] - 2.3F;
    shares[i * query * 11] = 1.4F;
    shares[i * query * 11 + 11] = 1.1F;
    shares[i * query * 11 + 24] = -0.2F;
  }
  const QString file = folder.filePath(u"regions.safetensors"_s);
  const std::vector<NamedTensor> tensors{{"layer.0.score", {1}, score},
                                         {"layer.0.weights", {counted}, weights},
                                         {"layer.0.regions", {regions}, scores},
                                         {"layer.0.counted", {counted}, numbers},
                                         {"layer.0.unmatched", {counted}, unmatched},
                                         {"layer.0.shares", {counted, query, 11}, shares}};
  const Status written = write_safetensors(
      file.toStdString(), tensors,
      {.metadata = {{"attnscope_regions", "1"},
                    {"model", "regions made up"},
                    {"note", ""},
                    {"unknown", "[]"},
                    {"query", nlohmann::json{"kernel", "pooling", "saturation"}.dump()},
                    {"document", document.dump()},
                    {"read", std::to_string(read)},
                    {"kept", std::to_string(read)}}});
  return written ? file : QString();
}

void wait_for(const std::function<bool()>& condition) {
  if (!QTest::qWaitFor(condition, timeout_ms)) {
    std::fprintf(stderr, "Page Attention did not get there in time.\n");
  }
}

void wait_until_drawn(AttentionPage& page) {
  AttentionSession& session = page.session();
  wait_for([&] {
    const QAbstractItemModel& heads = *page.source()->heads()->model();
    const QModelIndex last = heads.index(heads.rowCount() - 1, 0);  // the mean
    return !session.is_busy() && session.received() && page.map(AttentionSide::a)->is_settled() &&
           last.data(Qt::DecorationRole).isValid();
  });
  QTest::qWait(100);
}

}  // namespace

void shoot_attention(MainWindow& window,
                     const std::function<void(QWidget& shown, const QString& name)>& save) {
  const QTemporaryDir folder;
  window.show_page(MainWindow::attention_page);
  AttentionPage& page = *window.attention();
  page.session().open_example();
  wait_for([&] { return page.session().file().isEmpty() && page.session().dump(); });
  page.session().choose_head(2, 0);
  wait_until_drawn(page);
  save(window, u"attention"_s);

  page.source()->second()->choose(u"Sparse asymmetric"_s);
  page.findChild<QComboBox*>(u"shown"_s)->setCurrentIndex(2);
  page.session().choose_rows({{1, 9}});
  wait_for([&] { return page.session().head().kept.has_value(); });
  wait_until_drawn(page);
  save(window, u"attention-two-patterns"_s);
  page.findChild<QComboBox*>(u"side"_s)->setCurrentIndex(2);
  page.session().choose_side(AttentionSide::difference);
  wait_until_drawn(page);
  save(window, u"attention-difference"_s);
  page.source()->second()->choose({});

  page.open_file(regions_file(folder));
  wait_for([&] { return page.session().regions() != nullptr; });
  QTest::qWait(100);
  save(window, u"attention-regions"_s);

  page.open_file(long_dump(folder));
  wait_for([&] { return !page.session().file().isEmpty() && !page.session().regions(); });
  page.session().choose_head(0, 4);
  wait_until_drawn(page);
  save(window, u"attention-4096"_s);
  page.map(AttentionSide::a)->zoom_by(30);
  wait_until_drawn(page);
  save(window, u"attention-4096-zoomed"_s);

  page.ask_for_checkpoint();
  auto* dialog = page.findChild<CheckpointDialog*>();
  dialog->findChild<QLineEdit*>(u"checkpoint_folder_path"_s)
      ->setText(u"/home/me/models/ms-marco-MiniLM-L-6-v2"_s);
  dialog->findChild<QLineEdit*>(u"checkpoint_query"_s)->setText(u"how tall is the tower"_s);
  dialog->findChild<QPlainTextEdit*>()->setPlainText(
      u"The tower is 330 metres tall, about the same height as an 81-storey building. "
      "Its base is square, measuring 125 metres on each side."_s);
  dialog->findChild<PatternPicker*>()->choose(u"Sparse asymmetric"_s);
  wait_for([&] { return dialog->isVisible(); });
  QTest::qWait(100);
  save(*dialog, u"attention-checkpoint"_s);
  dialog->reject();

  page.open_file(folder.filePath(u"none.safetensors"_s));
  wait_for([&] { return !page.messages()->error().isEmpty(); });
  save(window, u"attention-error"_s);
  page.messages()->clear();
}

namespace {

/// The rows of the first setting, against the first contender.
Result<report::Table> first_setting(const Store& store) {
  const auto run = store.find_run("last");
  if (!run) return tl::unexpected(run.error());
  auto table = report::make_answer_table(store, *run, std::nullopt, {}, report::XAxis::length);
  if (!table) return table;
  const auto settings = report::rows_by_setting(*table, report::XAxis::length);
  report::Table first = report::without_rows(*table);
  if (settings.empty()) return first;
  for (const report::Row* row : settings.front()) first.rows.push_back(*row);
  return first;
}

bool shoot_views(const report::Table& table, const QString& folder, const QString& suffix) {
  bool saved = true;
  for (const report::View& view : report::views()) {
    auto figure = report::make_figure(table, report::XAxis::length, view.y);
    if (!figure) continue;
    report::mark_crossovers(*figure, table, report::XAxis::length, view.y);
    charts::RunChart chart;
    chart.set_contenders(table.contenders);
    chart.set_figure(*figure);
    chart.resize(QSize(620, 520).expandedTo(chart.minimumSizeHint()));
    chart.show();
    saved = save(chart, folder + u"/chart-"_s + qstring(view.key) + suffix) && saved;
    if (view.y != report::YAxis::time) continue;
    for (int i = 0; i < 3; ++i) QTest::keyClick(&chart, Qt::Key_Plus);
    saved = save(chart, folder + u"/chart-zoomed"_s + suffix) && saved;
    QTest::keyClick(&chart, Qt::Key_T);
    saved = save(*chart.findChild<QDialog*>(), folder + u"/chart-table"_s + suffix) && saved;
    FigureDialog dialog(charts::printable(*figure), chart.shown_options(), u"time"_s);
    dialog.setAttribute(Qt::WA_DeleteOnClose, false);
    dialog.show();
    const bool painted =
        QTest::qWaitFor([&] { return !dialog.preview()->image().isNull(); }, timeout_ms);
    saved = save(dialog, folder + u"/figure-dialog"_s + suffix) && painted && saved;
  }
  return saved;
}

}  // namespace

bool shoot_charts(const std::filesystem::path& database, const QString& folder,
                  const QString& suffix) {
  const auto store = Store::open(database, Store::Mode::read_only);
  const auto table = store ? first_setting(*store) : tl::unexpected(store.error());
  if (!table) {
    std::fprintf(stderr, "%s\n", table.error().message.c_str());
    return false;
  }
  bool saved = shoot_views(*table, folder, suffix);
  const auto facets =
      report::make_facets(*table, report::XAxis::length,
                          {report::YAxis::time, report::YAxis::memory}, "implementation");
  if (facets) {
    charts::RunChart view;
    view.set_contenders(table->contenders);
    view.set_facets(*facets);
    view.resize(1000, 650);
    view.show();
    saved = save(view, folder + u"/facets"_s + suffix) && saved;
  }
  return saved;
}

namespace {

/// Masks in their finest picture, implementations answered.
void settle(PatternsPage& page) {
  const auto is_settled = [&page] {
    (void)page.grab();
    const auto* difference = page.findChild<charts::MaskView*>(u"difference_mask"_s);
    const bool drawn =
        page.mask()->is_settled() && (!page.masks()->is_split() || difference->is_settled());
    const auto* note = page.findChild<QLabel*>(u"new_run_note"_s);
    return drawn && !note->text().startsWith(u"Asking"_s);
  };
  if (!QTest::qWaitFor(is_settled, timeout_ms)) qWarning("page Patterns did not settle");
}

}  // namespace

bool shoot_patterns(PatternsPage& page, const std::function<bool(const QString&)>& save) {
  const auto shoot = [&](const char* name) {
    settle(page);
    return save(QLatin1String(name));
  };
  page.choose(u"sparse"_s);
  page.masks()->set_style(charts::MaskStyle::schematic);
  page.mask()->pin(17, 19);
  bool saved = shoot("patterns");
  page.masks()->set_style(charts::MaskStyle::true_scale);
  saved = shoot("patterns-true") && saved;

  page.masks()->set_style(charts::MaskStyle::schematic);
  const Status edited = page.editor().set_rule(TokenGroup::sentence, TokenGroup::query,
                                               {.kind = GroupRule::Kind::whole});
  page.masks()->compare_with(u"Longformer"_s);
  page.mask()->pin(13, 16);
  saved = edited.has_value() && shoot("patterns-split") && saved;
  auto* scroll = page.findChild<SideArea*>();  // the panel's
  if (scroll) scroll->ensureVisible(0, scroll->widget()->height());
  page.masks()->set_style(charts::MaskStyle::true_scale);
  saved = shoot("patterns-split-true") && saved;
  page.masks()->compare_with({});
  if (scroll) scroll->ensureVisible(0, 0);

  page.choose(u"bigbird"_s);
  page.editor().set_documents({4084});
  saved = shoot("patterns-blocks") && saved;
  page.choose(u"chunks"_s);
  page.editor().set_documents({244});
  saved = shoot("patterns-chunks-true") && saved;
  page.editor().set_documents({1'000'000});
  (void)page.open_file(u"/nowhere/mine.json"_s);
  saved = shoot("patterns-errors") && saved;
  page.findChild<ProblemLabel*>(u"open_problem"_s)->set_problem({});
  while (page.editor().undo_stack().canUndo()) page.editor().undo_stack().undo();
  page.mask()->pin(-1, -1);
  return saved;
}

}  // namespace attnscope::gui
