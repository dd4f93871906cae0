#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Attention, and its view of a document's regions.

#include <QScrollArea>
#include <array>
#include <memory>

#include "app/drawing/heat_drawing.h"
#include "app/gui/charts/map_view.h"
#include "app/gui/session/attention_session.h"
#include "app/gui/views/page.h"

namespace attnscope::gui {

/// A document with the regions that determine its score, as wide as the page; it scrolls
/// vertically.
class RegionsView : public QScrollArea {
  Q_OBJECT
 public:
  explicit RegionsView(QWidget* parent = nullptr);

  void show_regions(RegionsPointer regions);
  /// The whole content of the drawing as text, for screen readers.
  [[nodiscard]] QString text() const;

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  class Paper;
  void lay_out();

  RegionsPointer regions_;
  Paper* paper_;
};

class AttentionNumbers;
class AttentionSource;
class SideArea;
class MessageBar;
namespace Ui {
class AttentionMaps;
}

/// Page Attention: the attention weights of a cross-encoder, head by head, and the effect of
/// another pattern on the same scores.
class AttentionPage : public Page {
  Q_OBJECT
 public:
  explicit AttentionPage(QWidget* parent = nullptr);
  ~AttentionPage() override;

  void open_file(const QString& file) { session_.open(file); }
  void ask_for_dump();
  /// Asks for a folder, texts and a pattern, from which a dump is computed and opened.
  void ask_for_checkpoint();

  [[nodiscard]] bool has_table() const override;
  void copy_table(report::TableFormat format) override;
  [[nodiscard]] bool has_figure() const override { return session_.regions() || has_table(); }
  void export_figure() override;
  [[nodiscard]] QList<PageActions> page_actions() const override;
  [[nodiscard]] QString run_text() const override;
  void run() override;

  /// The dump, head, patterns and maps that are shown, for restore() after a restart.
  [[nodiscard]] QVariantMap chosen() const;  // without a dump: what is still to be restored
  void restore(const QVariantMap& chosen);

  [[nodiscard]] AttentionSession& session() { return session_; }
  [[nodiscard]] charts::HeatView* map(AttentionSide side) const {
    return maps_.at(static_cast<std::size_t>(side));
  }
  [[nodiscard]] AttentionSource* source() const { return source_; }
  [[nodiscard]] AttentionNumbers* numbers() const { return numbers_; }
  [[nodiscard]] MessageBar* messages() const { return messages_; }
  [[nodiscard]] RegionsView* regions() const { return regions_; }

  /// The maps that are shown, with their zoom; no panel: nothing is computed yet.
  [[nodiscard]] charts::HeatFigure figure() const;

 protected:
  void showEvent(QShowEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void build_middle();
  void wire();
  void open_first();
  void dump_opened();
  void regions_opened();
  void show_maps_or_regions();
  void open_failed(const QString& sentence, const QString& file);
  void head_changed();
  void show_maps();
  void arrange_maps();
  [[nodiscard]] double largest_of(const PooledMap& map) const;
  void scale_maps();
  void pinned(qint64 query, qint64 key);
  void hovered(qint64 query, qint64 key);
  [[nodiscard]] QString weights_of(qint64 query, qint64 key) const;
  [[nodiscard]] bool is_shown(AttentionSide side) const;
  [[nodiscard]] QString caption() const;
  [[nodiscard]] QString head_text() const;

  AttentionSession session_;
  QAction* checkpoint_action_;
  AttentionSource* source_;
  AttentionNumbers* numbers_;
  QWidget* middle_;
  RegionsView* regions_;  // in place of the middle
  SideArea* right_ = nullptr;
  std::unique_ptr<Ui::AttentionMaps> ui_;
  std::array<charts::HeatView*, 3> maps_{};
  MessageBar* messages_;
  bool opened_something_ = false;
  QVariantMap kept_;  // to be restored when the page is first shown
};

}  // namespace attnscope::gui
