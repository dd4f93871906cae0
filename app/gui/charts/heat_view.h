#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// HeatView shows the weights of one head. Its pixels are computed off the GUI thread, and until
// they are ready the previous picture is stretched. Dragging along the margin of the rows selects
// rows.
//
//   view->show_weights(weights, summary, groups);
//   connect(view, &HeatView::rows_chosen, this, [](TokenRange rows) { ... });

#include <QString>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/drawing/heat_drawing.h"
#include "app/gui/charts/map_view.h"
#include "engine/inspect/head_summary.h"

namespace attnscope::charts {

class HeatView : public MapView {
  Q_OBJECT
 public:
  explicit HeatView(QWidget* parent = nullptr);

  void show_weights(std::shared_ptr<const WeightRows> weights,
                    std::shared_ptr<const HeadSummary> summary,
                    std::shared_ptr<const std::vector<TokenGroup>> groups);
  /// Texts of all tokens, drawn along the axes where there is room; null: none.
  void set_token_texts(std::shared_ptr<const std::vector<std::string>> tokens);
  /// Shows a sentence instead of a map.
  void show_message(const QString& message);
  void set_title(const QString& title);
  void set_scale(const HeatScale& scale);
  /// Rows to outline; empty: none.
  void set_chosen_rows(const std::vector<TokenRange>& rows);
  /// The column to mark; -1: none.
  void set_marked(qint64 column);

  [[nodiscard]] const QString& title() const { return title_; }
  [[nodiscard]] const HeatScale& scale() const { return scale_; }
  [[nodiscard]] qint64 tokens() const { return weights_ ? weights_->tokens() : 0; }
  /// Whether the pixels are those of the current request.
  [[nodiscard]] bool is_settled() const {
    return weights_ && !refiner_.is_busy() && !cells_.isNull();
  }
  /// The visible region in whole tokens. Precondition: weights are set.
  [[nodiscard]] MapRegion seen() const { return drawing().whole_tokens(); }
  [[nodiscard]] QRectF map_rect() const { return square().rect; }
  [[nodiscard]] QRectF row_margin() const { return drawing().row_margin(); }

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void rows_chosen(attnscope::TokenRange rows);

 protected:
  void showEvent(QShowEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  [[nodiscard]] bool has_map() const override { return weights_ != nullptr && !cells_.isNull(); }
  [[nodiscard]] const MapSquare& square() const override { return drawing().square(); }
  void paint_map(QPainter& painter) override;
  void invalidate() override;
  [[nodiscard]] const HeatDrawing& drawing() const;
  [[nodiscard]] qint64 row_at(double y) const;

  QString title_;
  std::shared_ptr<const WeightRows> weights_;
  std::shared_ptr<const HeadSummary> summary_;
  HeatTokens along_;
  HeatScale scale_;
  MapRegion region_;  // region of the cells
  mutable std::optional<HeatDrawing> drawing_;
  std::vector<TokenRange> chosen_rows_;
  qint64 marked_ = -1;
  std::optional<std::pair<qint64, qint64>> band_;  // first and last row of the drag in the margin
};

/// The colour bar of a scale.
class HeatBar : public QWidget {
  Q_OBJECT
 public:
  explicit HeatBar(QWidget* parent = nullptr);
  void set_scale(const HeatScale& scale);
  [[nodiscard]] const HeatScale& scale() const { return scale_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  HeatScale scale_;
};

}  // namespace attnscope::charts
