#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One dialog for every exported figure - charts, panels, masks: the page's size, its text,
// additional files, and a preview. `plot` and `mask` with the same options write the same bytes.
//
//   export_chart(*chart_, "time", [this](const QString& text) { Q_EMIT succeeded(text); });

#include <QDialog>
#include <QImage>
#include <QVariant>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "app/drawing/printable.h"

class QPushButton;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {
namespace Ui {
class FigureDialog;
}

/// A page as it will be printed, as large as the room allows. It is laid out and painted on a pool
/// thread, because a mask of a million tokens takes long and must not block the window.
class PagePreview : public QWidget {
  Q_OBJECT
 public:
  explicit PagePreview(QWidget* parent);

  void show_page(std::shared_ptr<const charts::Printable> what,
                 const charts::FigureOptions& options, bool vectors);
  /// Null until the first page is painted, and after a page that cannot be laid out.
  [[nodiscard]] const QImage& image() const { return image_; }
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  /// The page's size in mm, or the error (then both sizes are 0).
  void laid_out(double width_mm, double height_mm, const QString& problem);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  struct Request {
    std::shared_ptr<const charts::Printable> what;
    charts::FigureOptions options;
    bool vectors = true;
  };
  void begin();
  void take(const QImage& image, QSizeF page_mm, const QString& problem);

  std::optional<Request> request_;  // the newest
  bool stale_ = false;              // newer than the one being painted
  bool busy_ = false;
  QImage image_;
};

class FigureDialog : public QDialog {
  Q_OBJECT
 public:
  /// `shown`: the settings of the source view: intervals, crossovers, ranges, contenders.
  /// `stem`: the suggested file name without its extension.
  FigureDialog(charts::Printable what, charts::FigureOptions shown, const QString& stem,
               QWidget* parent = nullptr);
  ~FigureDialog() override;

  [[nodiscard]] charts::FigureOptions options() const;
  [[nodiscard]] QString file() const;
  [[nodiscard]] const PagePreview* preview() const;
  /// The sentence below the options: the page's size, or an error.
  [[nodiscard]] QString message() const;

 Q_SIGNALS:
  /// Lists all written files. The dialog has closed.
  void written(const QString& sentence);

 public Q_SLOTS:
  /// Writes the files; asks before overwriting each existing file.
  void write();

 protected:
  void done(int result) override;

 private:
  void build(const QString& stem);
  /// A setting kept from one dialog to the next, and the property that holds it.
  struct Kept {
    const char* key;
    QWidget* widget;
    const char* property;
    QVariant at_first;
  };
  [[nodiscard]] std::vector<Kept> kept() const;
  void restore();
  void choose_file();
  void follow_venue();
  void follow_format();
  void refresh();
  void show_problem(const QString& sentence);
  void write_now();
  void take_written(const Result<charts::Files>& files);
  [[nodiscard]] QString extension() const;

  std::shared_ptr<const charts::Printable> what_;
  charts::FigureOptions shown_;
  std::unique_ptr<Ui::FigureDialog> ui_;
  QPushButton* write_ = nullptr;
  bool writing_ = false;
  bool failed_ = false;  // the message states why nothing was written
};

/// Opens a dialog for the chart's content; does nothing if it is empty. `written` receives the
/// sentence that lists the files.
void export_chart(charts::RunChart& chart, const QString& stem,
                  std::function<void(const QString& sentence)> written);

}  // namespace attnscope::gui
