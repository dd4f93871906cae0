#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A page as it will be printed, as large as the room allows. It is laid out and painted on a thread
// of the pool: a mask of a million tokens takes its time, and the window shall not wait.
//
//   preview->show_page(printable, options, true);   // again whenever a choice changes

#include <QImage>
#include <QWidget>
#include <memory>
#include <optional>

#include "app/gui/charts/printable.h"

namespace attnscope::gui {

class PagePreview : public QWidget {
  Q_OBJECT
 public:
  explicit PagePreview(std::shared_ptr<const charts::Printable> what, QWidget* parent = nullptr);

  void show_page(const charts::FigureOptions& options, bool vectors);
  /// Null until the first page is painted, and after one that cannot be laid out.
  [[nodiscard]] const QImage& image() const { return image_; }
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  /// Millimetres, or the sentence that says why there is no page (then both are 0).
  void laid_out(double width_mm, double height_mm, const QString& problem);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Wish {
    charts::FigureOptions options;
    bool vectors = true;
  };
  void begin();
  void take(const QImage& image, QSizeF page_mm, const QString& problem);

  std::shared_ptr<const charts::Printable> what_;
  std::optional<Wish> wish_;  // the newest
  bool stale_ = false;        // it is newer than what is being painted
  bool busy_ = false;
  QImage image_;
};

}  // namespace attnscope::gui
