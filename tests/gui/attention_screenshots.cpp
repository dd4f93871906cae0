// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/attention_screenshots.h"

#include <QComboBox>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "app/gui/views/attention_page.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/checkpoint_dialog.h"
#include "app/gui/views/page.h"
#include "engine/safetensors/safetensors.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

/// 4096 tokens, one layer of 12 heads whose queries and keys turn with the position: bands of
/// several widths. Written by hand, because metadata is not write_safetensors' business.
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
  nlohmann::json header;
  header["__metadata__"] = {{"attnscope_dump", "1"},
                            {"model", "bands of positions"},
                            {"note", "Made up for the screenshots; no model."},
                            {"layout", R"({"items": [{"cls": 1, "query": 6, "document": 4089}]})"},
                            {"tokens", texts.dump()},
                            {"pattern", "full"},
                            {"scale", "1"}};
  const std::size_t bytes = q.size() * sizeof(float);
  for (const char* part : {"q", "k", "v"}) {
    header[std::string("layer.0.") + part] = {
        {"dtype", "F32"}, {"shape", {tokens, heads, dim}}, {"data_offsets", {0, 0}}};
  }
  std::size_t begin = 0;
  for (const char* part : {"k", "q", "v"}) {
    header[std::string("layer.0.") + part]["data_offsets"] = {begin, begin + bytes};
    begin += bytes;
  }
  const std::string text = header.dump();
  QFile file(folder.filePath(u"long.safetensors"_s));
  if (!file.open(QIODevice::WriteOnly)) return {};
  const auto length = static_cast<quint64>(text.size());
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(text.data(), static_cast<qint64>(text.size()));
  for (int part = 0; part < 3; ++part) {
    file.write(reinterpret_cast<const char*>(q.data()), static_cast<qint64>(bytes));
  }
  return file.fileName();
}

/// The regions of a document of 700 words, of which three hold what was asked for.
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

}  // namespace attnscope::gui
