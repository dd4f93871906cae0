// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/run_chart.h"

#include <QEvent>
#include <QFontInfo>
#include <QPainter>
#include <QResizeEvent>
#include <QStringList>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/charts/chart_access.h"
#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
RunChart::RunChart(QWidget* parent)
    : QWidget(parent), placeholder_(QStringLiteral("No values yet")) {
  install_chart_access();
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  describe();
}

RunChart::~RunChart() = default;

void RunChart::set_figure(const report::Figure& figure) {
  // Another length or value has other places to look at.
  if (figure.x_label != figure_.x_label) x_range_.reset();
  if (figure.y_label != figure_.y_label) y_range_.reset();
  figure_ = figure;
  if (keyboard_series_ >= static_cast<int>(figure_.series.size())) keyboard_series_ = -1;
  scale_figure();
}

void RunChart::scale_figure() {
  scaled_ = figure_;
  report::set_scales(scaled_, x_scale_, y_scale_);
  invalidate();
}

void RunChart::set_contenders(const std::vector<std::string>& ids) {
  contenders_ = ids;
  styles_ = ContenderStyles(ids);
  invalidate();
}

void RunChart::set_placeholder(const QString& text) {
  placeholder_ = text;
  invalidate();
}

void RunChart::set_theme(ChartTheme theme) {
  theme_ = theme;
  invalidate();
}

ChartTheme RunChart::theme() const {
  return theme_.value_or(theme_of(palette()));
}

void RunChart::set_title_shown(bool shown) {
  title_ = shown;
  invalidate();
}

void RunChart::set_legend_shown(bool shown) {
  legend_ = shown;
  invalidate();
}

void RunChart::set_plot_shown(bool shown) {
  plot_ = shown;
  setSizePolicy(QSizePolicy::Expanding, shown ? QSizePolicy::Expanding : QSizePolicy::Fixed);
  invalidate();
}

void RunChart::set_shared_values(std::vector<double> xs, std::vector<double> ys) {
  shared_x_ = std::move(xs);
  shared_y_ = std::move(ys);
  invalidate();
}

bool RunChart::has_plot() const {
  return plot_ && !drawing().empty();
}

bool RunChart::is_series_visible(const QString& style_key) const {
  return !hidden_.contains(style_key.toStdString());
}

void RunChart::set_series_visible(const QString& style_key, bool visible) {
  if (is_series_visible(style_key) == visible) return;
  if (visible) {
    hidden_.erase(style_key.toStdString());
  } else {
    hidden_.insert(style_key.toStdString());
  }
  invalidate();
}

void RunChart::set_intervals_shown(bool shown) {
  if (intervals_ == shown) return;
  intervals_ = shown;
  invalidate();
}

void RunChart::set_crossovers_shown(bool shown) {
  if (crossovers_ == shown) return;
  crossovers_ = shown;
  invalidate();
}

void RunChart::set_x_scale(OptionalScale scale) {
  if (x_scale_ == scale) return;
  x_scale_ = scale;
  scale_figure();
}

void RunChart::set_y_scale(OptionalScale scale) {
  if (y_scale_ == scale) return;
  y_scale_ = scale;
  scale_figure();
}

report::Figure RunChart::shown_figure() const {
  report::Figure shown = scaled_;
  std::erase_if(shown.series,
                [this](const report::Series& one) { return hidden_.contains(one.style_key); });
  std::erase_if(shown.marks, [this](const report::Mark& mark) {
    return !crossovers_ || hidden_.contains(mark.style_key);
  });
  return shown;
}

FigureOptions RunChart::shown_options() const {
  FigureOptions options;
  options.contenders = contenders_;
  options.intervals = intervals_;
  options.crossovers = crossovers_;
  options.x_range = x_range_;
  options.y_range = y_range_;
  return options;
}

void RunChart::invalidate() {
  current_.reset();
  drawing_.reset();
  update();
  updateGeometry();
  describe();
  Q_EMIT changed();
}

const ChartDrawing& RunChart::drawing() const {
  if (!drawing_) {
    ChartDrawing::Page page;
    page.size = QSizeF(size());
    page.em = em_of(*this);
    page.theme = theme();
    page.title = title_;
    page.placeholder = placeholder_;
    page.hidden = hidden_;
    page.legend = legend_;
    page.plot = plot_;
    page.intervals = intervals_;
    page.marks = crossovers_;
    page.x_range = x_range_;
    page.y_range = y_range_;
    page.shared_x = shared_x_;
    page.shared_y = shared_y_;
    // A contender that the run did not name gets its slot in a copy: drawing changes nothing here.
    ContenderStyles styles = styles_;
    drawing_ = std::make_unique<ChartDrawing>(scaled_, styles, page);
  }
  return *drawing_;
}

QString RunChart::value_at(QPointF position) const {
  const double radius = hover_radius * em_of(*this);
  if (const DrawnPoint* point = drawing().nearest(position, radius)) return point->text;
  const DrawnCeiling* ceiling = drawing().ceiling_at(position, radius / 4);
  return ceiling == nullptr ? QString() : ceiling->text;
}

QString RunChart::current_value() const {
  return current_ ? current_->text : QString();
}

QSize RunChart::sizeHint() const {
  const int em = static_cast<int>(em_of(*this));
  const int least = minimumSizeHint().height();
  return {36 * em, plot_ ? std::max(26 * em, least) : least};
}

QSize RunChart::minimumSizeHint() const {
  return {static_cast<int>(16 * em_of(*this)),
          static_cast<int>(std::ceil(drawing().least_height()))};
}

void RunChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  drawing().paint(painter, current_ ? &*current_ : nullptr, hasFocus() ? keyboard_series_ : -1);
  const QColor selected = colors_of(theme()).selected;
  if (drag_ == Drag::frame) {
    QColor ground = selected;
    ground.setAlphaF(0.15F);
    painter.setPen(QPen(selected, 1));
    painter.setBrush(ground);
    painter.drawRect(QRectF(drag_start_, drag_now_).normalized().intersected(drawing().plot()));
  }
  if (hasFocus()) {
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(selected, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void RunChart::resizeEvent(QResizeEvent* /*event*/) {
  const double before = drawing_ ? drawing_->least_height() : 0;
  drawing_.reset();
  current_.reset();
  // A narrower legend is higher; the layout must hear of it.
  if (drawing().least_height() != before) updateGeometry();
}

void RunChart::set_current(std::optional<DrawnPoint> point) {
  const bool same =
      point.has_value() == current_.has_value() &&
      (!point || (point->series == current_->series && point->index == current_->index));
  if (same) return;
  current_ = std::move(point);
  update();
}

void RunChart::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) invalidate();
  QWidget::changeEvent(event);
}

// Screen readers hear what is drawn and the title as the name and, as the description, where
// the keyboard stands or what there is.
void RunChart::describe() {
  QStringList parts;  // two charts of a run differ in their values, and share the title
  for (const std::string* part : {&figure_.y_label, &figure_.title}) {
    if (plot_ && !part->empty()) parts.append(QString::fromStdString(*part));
  }
  const QString kind = plot_ ? QStringLiteral("Chart") : QStringLiteral("Legend");
  setAccessibleName(parts.isEmpty()
                        ? kind
                        : QStringLiteral("%1: %2").arg(kind, parts.join(QStringLiteral("; "))));
  if (current_) return setAccessibleDescription(current_->text);
  if (keyboard_series_ >= 0) {
    const report::Series& series = figure_.series[static_cast<std::size_t>(keyboard_series_)];
    const bool visible = is_series_visible(QString::fromStdString(series.style_key));
    return setAccessibleDescription(
        QStringLiteral("%1, %2 %3, %4")
            .arg(QString::fromStdString(series.name))
            .arg(series.points.size())
            .arg(series.points.size() == 1 ? QStringLiteral("value") : QStringLiteral("values"),
                 visible ? QStringLiteral("shown") : QStringLiteral("hidden")));
  }
  if (figure_.series.empty()) return setAccessibleDescription(placeholder_);
  QStringList names;
  for (const report::Series& series : figure_.series) {
    names.append(QString::fromStdString(series.name));
  }
  QString text =
      QStringLiteral("%1 against %2 of %3 %4: %5.")
          .arg(QString::fromStdString(figure_.y_label), QString::fromStdString(figure_.x_label))
          .arg(names.size())
          .arg(names.size() == 1 ? QStringLiteral("contender") : QStringLiteral("contenders"),
               names.join(QStringLiteral("; ")));
  if (x_range_) {
    text += QStringLiteral(" Zoomed to %1 to %2.")
                .arg(number_text(x_range_->low), number_text(x_range_->high));
  }
  setAccessibleDescription(
      text +
      QStringLiteral(" Up and Down choose one, Left and Right read its values, Space hides or "
                     "shows it, T opens the numbers as a table, Menu tells what else there "
                     "is."));
}

void link_charts(RunChart& first, RunChart& second) {
  const auto link = [](RunChart& from, RunChart& to) {
    const auto same_x = [&from, &to] { return from.figure().x_label == to.figure().x_label; };
    QObject::connect(&from, &RunChart::series_toggled, &to, &RunChart::set_series_visible);
    QObject::connect(&from, &RunChart::intervals_chosen, &to, &RunChart::set_intervals_shown);
    QObject::connect(&from, &RunChart::crossovers_chosen, &to, &RunChart::set_crossovers_shown);
    QObject::connect(&from, &RunChart::x_range_chosen, &to, [same_x, &to](OptionalRange range) {
      if (same_x()) to.set_x_range(range);
    });
    QObject::connect(&from, &RunChart::x_scale_chosen, &to, [same_x, &to](OptionalScale scale) {
      if (same_x()) to.set_x_scale(scale);
    });
  };
  link(first, second);
  link(second, first);
}

}  // namespace attnscope::charts
