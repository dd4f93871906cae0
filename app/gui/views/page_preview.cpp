// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/page_preview.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPointer>
#include <algorithm>
#include <utility>

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

struct Painted {
  QImage image;
  QSizeF page_mm;
  QString problem;
};

/// The whole page within `room`, in device pixels.
Painted paint_page(const charts::Printable& what, const charts::FigureOptions& options,
                   bool vectors, QSize room) {
  if (const Status checked = charts::check_options(options); !checked) {
    return {{}, {}, words(checked.error().message)};
  }
  const Result<charts::LaidOut> page = what.lay_out(options, vectors);
  if (!page) return {{}, {}, words(page.error().message)};
  const double scale =
      std::min(room.width() / page->size.width(), room.height() / page->size.height());
  QImage image((page->size * scale).toSize().expandedTo(QSize(1, 1)), QImage::Format_RGB32);
  image.fill(Qt::white);
  QPainter painter(&image);
  painter.scale(scale, scale);
  page->paint(painter);
  painter.end();
  return {image, page->size / charts::units_of_mm(1), {}};
}

}  // namespace

PagePreview::PagePreview(std::shared_ptr<const charts::Printable> what, QWidget* parent)
    : QWidget(parent), what_(std::move(what)) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(tr("Preview of the page"));
}

QSize PagePreview::sizeHint() const {
  const int em = fontMetrics().height();
  return {30 * em, 24 * em};
}

void PagePreview::show_page(const charts::FigureOptions& options, bool vectors) {
  wish_ = Wish{options, vectors};
  stale_ = true;
  begin();
}

void PagePreview::begin() {
  if (busy_ || !stale_ || !wish_ || size().isEmpty()) return;
  busy_ = true;
  stale_ = false;
  const QSize room = (QSizeF(size()) * devicePixelRatioF()).toSize();
  // Only the application's thread looks through the pointer.
  charts::draw_soon(*what_,
                    [what = what_, wish = *wish_, room, here = QPointer<PagePreview>(this)] {
                      Painted painted = paint_page(*what, wish.options, wish.vectors, room);
                      QMetaObject::invokeMethod(
                          QCoreApplication::instance(),
                          [here, painted = std::move(painted)] {
                            if (here) here->take(painted.image, painted.page_mm, painted.problem);
                          },
                          Qt::QueuedConnection);
                    });
}

void PagePreview::take(const QImage& image, QSizeF page_mm, const QString& problem) {
  busy_ = false;
  image_ = image;
  image_.setDevicePixelRatio(devicePixelRatioF());
  update();
  Q_EMIT laid_out(page_mm.width(), page_mm.height(), problem);
  begin();
}

void PagePreview::paintEvent(QPaintEvent* /*event*/) {
  if (image_.isNull()) return;
  QPainter painter(this);
  const QSizeF shown = image_.deviceIndependentSize();
  const QRectF page(QPointF((width() - shown.width()) / 2, (height() - shown.height()) / 2), shown);
  painter.drawImage(page.topLeft(), image_);
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawRect(page.adjusted(0, 0, -1, -1));
}

void PagePreview::resizeEvent(QResizeEvent* /*event*/) {
  stale_ = wish_.has_value();
  begin();
}

}  // namespace attnscope::gui
