// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/sample_strip.h"

#include <QFontMetricsF>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <map>

#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"
#include "engine/report/conditions.h"

namespace attnscope::gui {
namespace {

// More dots than this say nothing more, and painting them would be felt.
constexpr std::size_t most_dots = 3000;
constexpr double reach = 8;  // of the mouse, in points

}  // namespace

SampleStrip::SampleStrip(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("samples"));
  setFocusPolicy(Qt::StrongFocus);
  setMouseTracking(true);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  describe();
}

void SampleStrip::show_cell(const report::Row* row) {
  samples_.clear();
  outliers_.clear();
  placements_.clear();
  current_.reset();
  low_ns_ = high_ns_ = 0;
  if (row != nullptr && report::is_measured(*row)) {
    samples_ = row->cell.cell.samples;
    outliers_ = row->cell.outliers;
    outliers_.resize(samples_.size());
    summary_ = row->cell.summary;
    low_ns_ = summary_.low_ns;
    high_ns_ = summary_.high_ns;
    for (const Sample& sample : samples_) {
      if (std::ranges::find(placements_, sample.placement) == placements_.end())
        placements_.push_back(sample.placement);
      if (!std::isfinite(sample.time_ns)) continue;
      low_ns_ = std::min(low_ns_, sample.time_ns);
      high_ns_ = std::max(high_ns_, sample.time_ns);
    }
    std::ranges::sort(placements_);
    if (!(high_ns_ > low_ns_)) high_ns_ = low_ns_ * 1.01 + 1;
  }
  describe();
  updateGeometry();
  update();
}

QSize SampleStrip::sizeHint() const {
  const QFontMetrics metrics(font());
  return {24 * metrics.averageCharWidth(), 9 * metrics.height()};
}

QSize SampleStrip::minimumSizeHint() const {
  const QFontMetrics metrics(font());
  return {12 * metrics.averageCharWidth(), 9 * metrics.height()};
}

QRectF SampleStrip::plot() const {
  const QFontMetricsF metrics(font());
  const double line = metrics.height();
  return QRectF(rect()).adjusted(4, line + 4, -4, -line - 4);
}

double SampleStrip::y_of(double time_ns) const {
  const QRectF area = plot();
  const double share = (time_ns - low_ns_) / (high_ns_ - low_ns_);
  return area.bottom() - share * area.height();
}

std::vector<SampleStrip::Dot> SampleStrip::dots() const {
  std::vector<Dot> dots;
  if (samples_.empty() || placements_.empty()) return dots;
  std::map<int, std::pair<int, int>> rounds;  // first and last of each placement
  for (const Sample& sample : samples_) {
    const auto [at, is_new] =
        rounds.emplace(sample.placement, std::pair(sample.round, sample.round));
    if (is_new) continue;
    at->second.first = std::min(at->second.first, sample.round);
    at->second.second = std::max(at->second.second, sample.round);
  }
  const QRectF area = plot();
  const double width = area.width() / static_cast<double>(placements_.size());
  const std::size_t step = (samples_.size() + most_dots - 1) / most_dots;
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    const Sample& sample = samples_[i];
    if ((i % step != 0 && !outliers_[i]) || !std::isfinite(sample.time_ns)) continue;
    const auto place = std::ranges::lower_bound(placements_, sample.placement);
    const auto [first, last] = rounds[sample.placement];
    const double within =
        last > first ? (sample.round - first) / static_cast<double>(last - first) : 0.5;
    const double x = area.left() + width * (static_cast<double>(place - placements_.begin()) +
                                            0.12 + 0.76 * within);
    dots.push_back(
        {QPointF(x, y_of(sample.time_ns)), static_cast<int>(i), static_cast<bool>(outliers_[i])});
  }
  std::ranges::stable_sort(dots, {}, [](const Dot& dot) { return dot.position.x(); });
  return dots;
}

void SampleStrip::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF area = plot();
  painter.fillRect(rect(), palette().color(QPalette::Base));
  painter.setPen(hairline(palette()));
  painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  const QFontMetricsF metrics(font());
  const auto draw_text = [&](double y, int flags, const QString& text) {
    painter.setPen(faint_text(palette()));
    const QRectF line(area.left(), y, area.width(), metrics.height());
    painter.drawText(line, flags, metrics.elidedText(text, Qt::ElideRight, line.width()));
  };
  if (samples_.empty()) {
    draw_text(area.center().y() - metrics.height() / 2, Qt::AlignCenter,
              tr("No samples: choose a cell in the table, or a value in a chart"));
    return;
  }
  draw_text(2, Qt::AlignLeft, words(report::format_time(high_ns_)));
  draw_text(height() - metrics.height() - 2, Qt::AlignLeft, words(report::format_time(low_ns_)));
  draw_text(height() - metrics.height() - 2, Qt::AlignRight,
            counted(static_cast<qint64>(placements_.size()), tr("placement"), tr("placements")));
  const double width = area.width() / static_cast<double>(placements_.size());
  painter.setPen(hairline(palette()));
  for (std::size_t i = 1; i < placements_.size(); ++i) {
    const double x = area.left() + width * static_cast<double>(i);
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
  }
  QColor band = palette().color(QPalette::Highlight);
  const double top = y_of(summary_.high_ns);
  painter.setPen(QPen(band, 1.2));
  const double median = y_of(summary_.median_ns);
  painter.drawLine(QPointF(area.left(), median), QPointF(area.right(), median));
  band.setAlphaF(0.25F);
  painter.fillRect(
      QRectF(area.left(), top, area.width(), std::max(1.0, y_of(summary_.low_ns) - top)), band);

  const std::vector<Dot> all = dots();
  const QColor ink = palette().color(QPalette::Text);
  for (const Dot& dot : all) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(ink);
    painter.drawEllipse(dot.position, 1.5, 1.5);
    if (!dot.outlier) continue;
    painter.setPen(QPen(error_text(palette()), 1.2));
    painter.setBrush(Qt::NoBrush);
    painter.drawEllipse(dot.position, 4.0, 4.0);
  }
  if (current_ && *current_ < static_cast<int>(all.size())) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.setBrush(Qt::NoBrush);
    painter.drawEllipse(all[static_cast<std::size_t>(*current_)].position, 6.0, 6.0);
  }
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
  }
}

QString SampleStrip::text_of(int sample) const {
  const Sample& one = samples_[static_cast<std::size_t>(sample)];
  QStringList parts{tr("Placement %1, round %2: %3")
                        .arg(one.placement + 1)
                        .arg(one.round + 1)
                        .arg(words(report::format_time(one.time_ns)))};
  if (outliers_[static_cast<std::size_t>(sample)]) parts.append(tr("outlier"));
  if (one.throttled) parts.append(tr("throttled"));
  if (one.clock_mhz) parts.append(tr("%1 MHz").arg(*one.clock_mhz, 0, 'f', 0));
  if (one.temperature_c) parts.append(tr("%1 °C").arg(*one.temperature_c, 0, 'f', 0));
  if (one.involuntary_switches > 0) {
    parts.append(
        tr("taken off a core %1").arg(counted(one.involuntary_switches, tr("time"), tr("times"))));
  }
  return parts.join(QStringLiteral(", "));
}

QString SampleStrip::text_at(QPointF position) const {
  const std::vector<Dot> all = dots();
  const auto distance = [&](const Dot& dot) {
    const QPointF away = dot.position - position;
    return QPointF::dotProduct(away, away);
  };
  const auto nearest = std::ranges::min_element(all, {}, distance);
  if (nearest == all.end() || distance(*nearest) > reach * reach) return {};
  return text_of(nearest->sample);
}

QString SampleStrip::current_text() const {
  if (!current_) return {};
  const std::vector<Dot> all = dots();
  return *current_ < static_cast<int>(all.size())
             ? text_of(all[static_cast<std::size_t>(*current_)].sample)
             : QString();
}

void SampleStrip::mouseMoveEvent(QMouseEvent* event) {
  const QString text = text_at(event->position());
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(event->globalPosition().toPoint(), text, this);
  }
}

void SampleStrip::keyPressEvent(QKeyEvent* event) {
  const int direction = event->key() == Qt::Key_Right ? 1 : event->key() == Qt::Key_Left ? -1 : 0;
  const std::vector<Dot> all = dots();
  if (direction == 0 || all.empty()) return QWidget::keyPressEvent(event);
  const auto last = static_cast<int>(all.size()) - 1;
  current_ = current_ ? std::clamp(*current_ + direction, 0, last) : (direction > 0 ? 0 : last);
  const Dot& dot = all[static_cast<std::size_t>(*current_)];
  QToolTip::showText(mapToGlobal(dot.position.toPoint()), text_of(dot.sample), this);
  describe();
  update();
}

bool SampleStrip::event(QEvent* event) {
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) update();
  return QWidget::event(event);
}

void SampleStrip::describe() {
  setAccessibleName(tr("Samples by placement"));
  if (samples_.empty()) {
    setAccessibleDescription(tr("No cell with samples is chosen"));
  } else if (current_) {
    setAccessibleDescription(current_text());
  } else {
    setAccessibleDescription(
        tr("%1 in %2 between %3 and %4. Left and Right read them.")
            .arg(
                counted(static_cast<qint64>(samples_.size()), tr("sample"), tr("samples")),
                counted(static_cast<qint64>(placements_.size()), tr("placement"), tr("placements")),
                words(report::format_time(low_ns_)), words(report::format_time(high_ns_))));
  }
}

}  // namespace attnscope::gui
