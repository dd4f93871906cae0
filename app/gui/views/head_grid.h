#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The heads of a dump, a layer a row, with a small map of each as it is computed; last, where there
// are several, their mean. Many heads of one layer take several rows. One is chosen by mouse or
// arrow keys.

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

  /// Without pictures; they arrive by set_summary.
  void set_dump(const std::shared_ptr<const Dump>& dump);
  void set_summary(int layer, int head, const std::shared_ptr<const HeadSummary>& summary);
  void choose(int layer, int head);
  /// "layer 3, head 1", as the model numbers them from 0.
  [[nodiscard]] QString name_of(int layer, int head) const;

 Q_SIGNALS:
  void chosen(int layer, int head);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void currentChanged(const QModelIndex& current, const QModelIndex& previous) override;

 private:
  void draw(int layer, int head);
  /// Anew, a layer over so many rows.
  void set_lines(int lines);
  /// Rows that make the pictures of one layer largest.
  [[nodiscard]] int best_lines() const;
  /// Of a picture.
  [[nodiscard]] int side_in(int lines) const;
  /// As large as the room allows, between what can be told apart and what is a picture.
  void fit_cells();

  std::vector<std::int64_t> layers_;
  int heads_ = 0;
  int pictures_ = 0;  // heads and their mean
  bool is_wrapping_ = false;
  int lines_ = 1, across_ = 1;  // a layer's rows, and pictures in each
  std::vector<std::vector<std::shared_ptr<const HeadSummary>>> summaries_;  // [layer][head]
};

}  // namespace attnscope::gui
