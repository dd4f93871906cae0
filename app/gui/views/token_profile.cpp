// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/token_profile.h"

#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/charts/mask_colors.h"
#include "app/gui/models/attended_tokens_model.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

TokenProfile::TokenProfile(QWidget* parent) : QWidget(parent) {
  setObjectName(QStringLiteral("profile"));
  setMouseTracking(true);
  setAccessibleName(tr("Mass that each token receives"));
  setToolTip(
      tr("What each token receives from a mean selected row, from the first token to the last"));
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void TokenProfile::show_mass(std::shared_ptr<const std::vector<TokenGroup>> groups,
                             std::vector<double> mass) {
  groups_ = std::move(groups);
  mass_ = std::move(mass);
  const auto largest =
      std::ranges::max_element(mass_, {}, [](double value) { return std::abs(value); });
  setAccessibleDescription(mass_.empty()
                               ? tr("Not computed yet")
                               : tr("Token %1 receives most, %2; the list below has them in order")
                                     .arg(largest - mass_.begin())
                                     .arg(share_words(*largest)));
  update();
}

void TokenProfile::set_marked(qint64 token) {
  if (token == marked_) return;
  marked_ = token;
  update();
}

qint64 TokenProfile::token_at(double x) const {
  if (mass_.empty()) return -1;
  const auto tokens = static_cast<qint64>(mass_.size());
  return std::clamp<qint64>(
      static_cast<qint64>(x / std::max(1, width()) * static_cast<double>(tokens)), 0, tokens - 1);
}

QSize TokenProfile::sizeHint() const {
  return {20 * fontMetrics().averageCharWidth(), 5 * fontMetrics().height()};
}

QSize TokenProfile::minimumSizeHint() const {
  return {8 * fontMetrics().averageCharWidth(), 5 * fontMetrics().height()};
}

void TokenProfile::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.fillRect(rect(), palette().color(QPalette::Base));
  if (mass_.empty() || !groups_ || groups_->size() != mass_.size()) return;
  const charts::ChartTheme theme = charts::theme_of(palette());
  const auto [least, most] = std::ranges::minmax_element(mass_);
  const double top = std::max(*most, 0.0);
  const double bottom = std::min(*least, 0.0);
  if (top <= bottom) return;
  const double text = fontMetrics().height();
  const double high = height() - text - 2;
  const auto y_of = [&](double value) { return text + (top - value) / (top - bottom) * high; };

  const int pixels = width();
  const auto tokens = static_cast<qint64>(mass_.size());
  for (int x = 0; x < pixels; ++x) {
    const qint64 first = x * tokens / pixels;
    const qint64 end = std::max(first + 1, (x + 1) * tokens / pixels);
    qint64 largest = first;
    for (qint64 i = first; i < end; ++i) {
      const auto size = [&](qint64 at) { return std::abs(mass_[static_cast<std::size_t>(at)]); };
      if (size(i) > size(largest)) largest = i;
    }
    const auto at = static_cast<std::size_t>(largest);
    const double from = y_of(0);
    const double to = y_of(mass_[at]);
    painter.fillRect(QRectF(x, std::min(from, to), 1, std::abs(to - from)),
                     charts::margin_color((*groups_)[at], theme));
  }
  painter.setPen(hairline(palette()));
  painter.drawLine(QPointF(0, y_of(0)), QPointF(width(), y_of(0)));
  painter.setPen(faint_text(palette()));
  painter.drawText(QRectF(2, 0, width() - 4, text), Qt::AlignLeft | Qt::AlignTop,
                   tr("top %1").arg(share_words(top)));
  if (marked_ < 0 || marked_ >= tokens) return;
  const double x = (static_cast<double>(marked_) + 0.5) / static_cast<double>(tokens) * pixels;
  painter.setPen(QPen(palette().color(QPalette::Link), 1));
  painter.drawLine(QPointF(x, text), QPointF(x, height()));
}

void TokenProfile::mouseMoveEvent(QMouseEvent* event) {
  Q_EMIT hovered(token_at(event->position().x()));
}

void TokenProfile::leaveEvent(QEvent* /*event*/) {
  Q_EMIT hovered(-1);
}

}  // namespace attnscope::gui
