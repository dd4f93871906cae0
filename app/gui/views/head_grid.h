#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The heads of a dump, one row per layer, with a small map of each head as it is computed; after
// several heads, their mean. A layer with many heads takes several rows. A head is selected by
// mouse or arrow keys.

#include <QTableWidget>
#include <memory>
#include <vector>

#include "engine/inspect/dump.h"
#include "engine/inspect/head_summary.h"

namespace attnscope::gui {

class HeadGrid : public QTableWidget {
  Q_OBJECT
 public:
  explicit HeadGrid(QWidget* parent = nullptr);

  /// Starts without pictures; set_summary adds them.
  void set_dump(const std::shared_ptr<const Dump>& dump);
  void set_summary(int layer, int head, const std::shared_ptr<const HeadSummary>& summary);
  void choose(int layer, int head);
  /// "layer 3, head 1", numbered from 0 as in the model.
  [[nodiscard]] QString name_of(int layer, int head) const;

 Q_SIGNALS:
  void chosen(int layer, int head);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void draw(int layer, int head);
  /// Rebuilds the grid with `lines` rows per layer.
  void set_lines(int lines);
  /// Number of rows that makes the pictures of one layer largest.
  [[nodiscard]] int best_lines() const;
  /// Side length of a picture.
  [[nodiscard]] int side_in(int lines) const;
  /// Makes the cells as large as the room allows, between the smallest and largest useful size.
  void fit_cells();

  std::vector<std::int64_t> layers_;
  int heads_ = 0;
  int pictures_ = 0;  // number of heads, plus one for their mean
  bool is_wrapping_ = false;
  int lines_ = 1, across_ = 1;  // rows per layer, and pictures per row
  std::vector<std::vector<std::shared_ptr<const HeadSummary>>> summaries_;  // [layer][head]
};

}  // namespace attnscope::gui
