// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/run_chart.h"

#include <QEvent>
#include <QFontInfo>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

namespace attnscope::charts {
namespace {

constexpr double hover_radius = 2;  // em

double em_of(const QWidget& widget) {
  return QFontInfo(widget.font()).pixelSize();
}

// Points first, then rail marks: the order of DrawnPoint::index.
std::vector<const DrawnPoint*> stops_of(const DrawnSeries& series) {
  std::vector<const DrawnPoint*> stops;
  for (const DrawnPoint& point : series.points) stops.push_back(&point);
  for (const DrawnPoint& mark : series.rail) stops.push_back(&mark);
  std::ranges::stable_sort(stops, {}, [](const DrawnPoint* stop) { return stop->position.x(); });
  return stops;
}

}  // namespace

RunChart::RunChart(QWidget* parent)
    : QWidget(parent), placeholder_(QStringLiteral("No values yet")) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  describe();
}

RunChart::~RunChart() = default;

void RunChart::set_figure(const report::Figure& figure) {
  figure_ = figure;
  if (keyboard_series_ >= static_cast<int>(figure_.series.size())) keyboard_series_ = -1;
  invalidate();
  describe();
}

void RunChart::set_contenders(const std::vector<std::string>& ids) {
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

void RunChart::toggle(const std::string& style_key) {
  const QString key = QString::fromStdString(style_key);
  const bool visible = !is_series_visible(key);
  set_series_visible(key, visible);
  Q_EMIT series_toggled(key, visible);
}

void RunChart::invalidate() {
  current_.reset();
  drawing_.reset();
  update();
  updateGeometry();
}

const ChartDrawing& RunChart::drawing() const {
  if (!drawing_) {
    ChartDrawing::Page page;
    page.size = QSizeF(size());
    page.em = em_of(*this);
    page.theme = theme();
    page.placeholder = placeholder_;
    page.hidden = hidden_;
    // A contender that the run did not name gets its slot in a copy: drawing changes nothing here.
    ContenderStyles styles = styles_;
    drawing_ = std::make_unique<ChartDrawing>(figure_, styles, page);
  }
  return *drawing_;
}

QString RunChart::value_at(QPointF position) const {
  const DrawnPoint* point = drawing().nearest(position, hover_radius * em_of(*this));
  return point == nullptr ? QString() : point->text;
}

QString RunChart::current_value() const {
  return current_ ? current_->text : QString();
}

QSize RunChart::sizeHint() const {
  const int em = static_cast<int>(em_of(*this));
  return {36 * em, std::max(26 * em, minimumSizeHint().height())};
}

QSize RunChart::minimumSizeHint() const {
  return {static_cast<int>(20 * em_of(*this)),
          static_cast<int>(std::ceil(drawing().least_height()))};
}

void RunChart::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  drawing().paint(painter, current_ ? &*current_ : nullptr, hasFocus() ? keyboard_series_ : -1);
  if (hasFocus()) {
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors_of(theme()).selected, 1));
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

void RunChart::mouseMoveEvent(QMouseEvent* event) {
  const DrawnPoint* point = drawing().nearest(event->position(), hover_radius * em_of(*this));
  set_current(point == nullptr ? std::nullopt : std::optional(*point));
  setCursor(drawing().legend_at(event->position()) != nullptr ? Qt::PointingHandCursor
                                                              : Qt::ArrowCursor);
  if (point != nullptr) {
    QToolTip::showText(event->globalPosition().toPoint(), point->text, this);
  } else {
    QToolTip::hideText();
  }
}

void RunChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
  const LegendEntry* entry = drawing().legend_at(event->position());
  if (entry == nullptr) return;
  keyboard_series_ = entry->series;
  toggle(figure_.series[static_cast<std::size_t>(entry->series)].style_key);
}

void RunChart::leaveEvent(QEvent* /*event*/) {
  set_current(std::nullopt);
}

void RunChart::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Up:
      step_series(-1);
      break;
    case Qt::Key_Down:
      step_series(+1);
      break;
    case Qt::Key_Left:
      step_point(-1);
      break;
    case Qt::Key_Right:
      step_point(+1);
      break;
    case Qt::Key_Space:
    case Qt::Key_Return:
      if (keyboard_series_ < 0) return QWidget::keyPressEvent(event);
      toggle(figure_.series[static_cast<std::size_t>(keyboard_series_)].style_key);
      break;
    case Qt::Key_Escape:
      if (keyboard_series_ < 0 && !current_) return QWidget::keyPressEvent(event);
      keyboard_series_ = -1;
      set_current(std::nullopt);
      break;
    default:
      return QWidget::keyPressEvent(event);
  }
  describe();
  update();
}

void RunChart::step_series(int direction) {
  const auto count = static_cast<int>(figure_.series.size());
  if (count == 0) return;
  keyboard_series_ = keyboard_series_ < 0 ? (direction > 0 ? 0 : count - 1)
                                          : (keyboard_series_ + direction + count) % count;
  set_current(std::nullopt);
}

void RunChart::step_point(int direction) {
  if (keyboard_series_ < 0) step_series(+1);
  if (keyboard_series_ < 0) return;
  const DrawnSeries& series = drawing().series()[static_cast<std::size_t>(keyboard_series_)];
  if (!series.visible) return;
  const std::vector<const DrawnPoint*> stops = stops_of(series);
  if (stops.empty()) return;
  auto at = std::ranges::find_if(stops, [this](const DrawnPoint* stop) {
    return current_ && current_->series == stop->series && current_->index == stop->index;
  });
  auto index = static_cast<int>(at - stops.begin());
  const auto count = static_cast<int>(stops.size());
  index = at == stops.end() ? (direction > 0 ? 0 : count - 1)
                            : std::clamp(index + direction, 0, count - 1);
  const DrawnPoint& stop = *stops[static_cast<std::size_t>(index)];
  set_current(stop);
  QToolTip::showText(mapToGlobal(stop.position.toPoint()), stop.text, this);
}

void RunChart::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) invalidate();
  QWidget::changeEvent(event);
}

// Screen readers hear the title (or else what is drawn) as the name and, as the description, where
// the keyboard stands.
void RunChart::describe() {
  const std::string& title = figure_.title.empty() ? figure_.y_label : figure_.title;
  const QString name = title.empty()
                           ? QStringLiteral("Chart")
                           : QStringLiteral("Chart: %1").arg(QString::fromStdString(title));
  QString description;
  if (current_) {
    description = current_->text;
  } else if (keyboard_series_ >= 0) {
    const report::Series& series = figure_.series[static_cast<std::size_t>(keyboard_series_)];
    description = QStringLiteral("%1, %2 values, %3")
                      .arg(QString::fromStdString(series.name))
                      .arg(series.points.size())
                      .arg(is_series_visible(QString::fromStdString(series.style_key))
                               ? QStringLiteral("shown")
                               : QStringLiteral("hidden"));
  } else {
    description =
        QStringLiteral(
            "%1 against %2, %3 contenders. Up and Down choose one, Left and "
            "Right read its values, Space hides or shows it.")
            .arg(QString::fromStdString(figure_.y_label), QString::fromStdString(figure_.x_label))
            .arg(figure_.series.size());
  }
  setAccessibleName(name);
  setAccessibleDescription(description);
}

}  // namespace attnscope::charts
