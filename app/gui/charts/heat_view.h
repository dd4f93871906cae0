#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// HeatView draws the weights of one head, tokens x tokens: rows attend, columns are attended to,
// with strips of the token groups beside them. Pixels are computed off the GUI thread; until they
// are there, what was drawn before is shown stretched.
//
//   view->show_weights(weights, summary, groups);
//   connect(view, &HeatView::rows_chosen, this, [](TokenRange rows) { ... });
//
// Dragging chooses rows, a click one of them; dragging with Ctrl or the middle button pans, the
// wheel zooms, a double click shows all. Keys: + - arrows Home; Escape gives the choice up.

#include <QImage>
#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/heat_colors.h"
#include "app/gui/charts/latest_job.h"
#include "engine/inspect/head_summary.h"

namespace attnscope::charts {

/// The square of tokens that is seen.
struct HeatViewport {
  double row = 0;
  double column = 0;
  double extent = 0;  // tokens along a side; 0: all
  friend bool operator==(const HeatViewport&, const HeatViewport&) = default;
};

class HeatView : public QWidget {
  Q_OBJECT
 public:
  explicit HeatView(QWidget* parent = nullptr);

  void show_weights(std::shared_ptr<const WeightRows> weights,
                    std::shared_ptr<const HeadSummary> summary,
                    std::shared_ptr<const std::vector<TokenGroup>> groups);
  /// Texts of all tokens, written along the axes where there is room; null: none are.
  void set_token_texts(std::shared_ptr<const std::vector<std::string>> tokens);
  /// Nothing, and a sentence instead.
  void show_message(const QString& message);
  void set_title(const QString& title);
  void set_scale(const HeatScale& scale);
  void set_viewport(const HeatViewport& viewport);
  /// Outlined; empty: none.
  void set_chosen_rows(const std::vector<TokenRange>& rows);
  /// Outlined like the pair under the cursor: (-1, -1) for none, (-1, key) for a column.
  void set_marked(qint64 query, qint64 key);

  [[nodiscard]] const QString& title() const { return title_; }
  [[nodiscard]] const HeatScale& scale() const { return scale_; }
  [[nodiscard]] HeatViewport viewport() const { return viewport_; }
  [[nodiscard]] qint64 tokens() const { return weights_ ? weights_->tokens() : 0; }
  /// The pixels are those of what is asked for now.
  [[nodiscard]] bool is_settled() const { return weights_ && !job_.is_busy() && !image_.isNull(); }
  [[nodiscard]] const QImage& image() const { return image_; }
  /// Where the weights are drawn.
  [[nodiscard]] QRectF map_rect() const;
  [[nodiscard]] std::optional<std::pair<qint64, qint64>> pair_at(QPointF position) const;
  /// Centre of a pair's cell.
  [[nodiscard]] QPointF position_of(qint64 query, qint64 key) const;
  void show_all();
  void zoom_by(double factor);

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  /// (-1, -1) when the cursor leaves the weights.
  void hovered(qint64 query, qint64 key);
  void rows_chosen(attnscope::TokenRange rows);
  void choice_given_up();
  void viewport_changed(const attnscope::charts::HeatViewport& viewport);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  [[nodiscard]] HeatViewport shown() const;  // with an extent
  [[nodiscard]] double em_pixels() const;    // pixels of the font
  [[nodiscard]] double strip() const;
  [[nodiscard]] double label_room() const;
  [[nodiscard]] QRectF rows_rect(TokenRange rows) const;
  void render();
  void zoom_about(QPointF position, double factor);
  void pan_by(QPointF pixels);
  void move_to(HeatViewport viewport);
  void hover(std::optional<std::pair<qint64, qint64>> pair);
  void paint_axes(QPainter& painter) const;
  void paint_marks(QPainter& painter) const;

  QString title_;
  QString message_;
  std::shared_ptr<const WeightRows> weights_;
  std::shared_ptr<const HeadSummary> summary_;
  std::shared_ptr<const std::vector<TokenGroup>> groups_;
  std::shared_ptr<const std::vector<std::string>> texts_;
  HeatScale scale_;
  HeatViewport viewport_;
  QImage image_;
  MapRegion image_region_;
  std::vector<TokenRange> chosen_rows_;
  std::pair<qint64, qint64> marked_{-1, -1};
  std::optional<std::pair<qint64, qint64>> hovered_;
  std::optional<QPointF> pan_from_;
  std::optional<qint64> band_from_, band_to_;
  LatestJob job_;
};

}  // namespace attnscope::charts
