#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Every sample of a cell as a dot: a column for each placement of its buffers, in it the rounds
// from left to right, the time upwards; the median as a line, its interval as a band, outliers
// ringed. What placements differ by, and what drifts, is seen at a glance.
//
// Keyboard: Left and Right walk along the samples and say each one's values.

#include <QWidget>
#include <optional>
#include <vector>

#include "engine/report/table.h"

namespace attnscope::gui {

class SampleStrip : public QWidget {
  Q_OBJECT
 public:
  explicit SampleStrip(QWidget* parent = nullptr);

  /// Nothing: no samples to draw.
  void show_cell(const report::Row* row);

  struct Dot {
    QPointF position;
    int sample = 0;  // of the cell
    bool outlier = false;
  };
  /// What is drawn at this size; of very many samples an even choice, with every outlier.
  [[nodiscard]] std::vector<Dot> dots() const;
  /// "Placement 2, round 5: 2.41 ms, outlier"; of the sample at the position or chosen by keyboard.
  [[nodiscard]] QString text_at(QPointF position) const;
  [[nodiscard]] QString current_text() const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  [[nodiscard]] QRectF plot() const;
  [[nodiscard]] double y_of(double time_ns) const;
  [[nodiscard]] QString text_of(int sample) const;
  void describe();

  std::vector<Sample> samples_;
  std::vector<bool> outliers_;
  statistics::Summary summary_;
  std::vector<int> placements_;  // in order
  double low_ns_ = 0, high_ns_ = 0;
  std::optional<int> current_;  // among dots()
};

}  // namespace attnscope::gui
