#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The weights of one head, tokens x tokens: rows attend, columns are attended to. HeatDrawing lays
// them out on a page, for the window and for paper: a title, the map, strips of the token groups
// along it and, where there is room, the tokens. HeatView is the widget; its pixels are computed
// off the GUI thread, and until they are ready the previous picture is stretched. Dragging along
// the margin of the rows selects rows.
//
//   view->show_weights(weights, summary, groups);
//   connect(view, &HeatView::rows_chosen, this, [](TokenRange rows) { ... });

#include <QImage>
#include <QPainter>
#include <QString>
#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "app/gui/charts/map_axis.h"
#include "app/gui/charts/map_colors.h"
#include "app/gui/charts/map_view.h"
#include "engine/inspect/head_summary.h"
#include "engine/inspect/pooled_map.h"

namespace attnscope::charts {

/// Labels along both sides of a map.
struct HeatTokens {
  std::shared_ptr<const std::vector<TokenGroup>> groups;
  std::shared_ptr<const std::vector<std::string>> texts;  // null: no labels
};

class HeatDrawing {
 public:
  struct Page {
    QSizeF size;
    double em = 12;
    ChartTheme theme = ChartTheme::light;
    QString title;  // empty: none
  };
  HeatDrawing(HeatTokens tokens, const MapFocus& focus, Page page);

  [[nodiscard]] const MapSquare& square() const { return square_; }
  /// Height of the page that holds all elements without slack.
  [[nodiscard]] double needed_height() const;
  /// The visible part of the weights, at most one cell per pixel.
  [[nodiscard]] MapRegion region(double pixels_per_unit) const;
  /// The visible whole tokens, as many rows as columns.
  [[nodiscard]] MapRegion whole_tokens() const;
  /// `image` holds the weights of `region`, which may differ from the visible region.
  void paint(QPainter& painter, const QImage& image, const MapRegion& region) const;
  [[nodiscard]] QRectF rows_rect(TokenRange rows) const;
  /// Strips and tokens along the rows, where rows are selected.
  [[nodiscard]] QRectF row_margin() const;

 private:
  [[nodiscard]] double strip_away() const { return 1.25 * strip_; }
  void paint_side(QPainter& painter, Qt::Orientation along) const;
  void paint_texts(QPainter& painter, Qt::Orientation along, double first) const;

  HeatTokens tokens_;
  Page page_;
  MapSquare square_;
  double strip_ = 0;  // thickness of the coloured margins
  double room_ = 0;   // for tokens; 0: none
};

/// A number of a scale in few characters: "0.02", "1e-4", "1".
[[nodiscard]] QString weight_words(double value);

/// The colour ramp along a horizontal `rect`, with numbers below it in the painter's font.
void paint_color_bar(QPainter& painter, const QRectF& rect, const HeatScale& scale,
                     ChartTheme theme);

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
