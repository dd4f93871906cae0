#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One dialog for every figure that leaves the window - charts, panels, masks: the page's size, its
// text, the files beside it, and a preview. `plot` and `mask` with the same choices write the same
// bytes.
//
//   auto* dialog = new FigureDialog(charts::printable(figure), chart->shown_options(), "time",
//   this); connect(dialog, &FigureDialog::written, this, &Page::succeeded); dialog->open();

#include <QDialog>
#include <memory>

#include "app/gui/charts/printable.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace attnscope::gui {

class PagePreview;

class FigureDialog : public QDialog {
  Q_OBJECT
 public:
  /// `shown`: what is chosen where the figure stands: intervals, crossovers, ranges, contenders.
  /// `stem`: the suggested file name without its extension.
  FigureDialog(charts::Printable what, charts::FigureOptions shown, const QString& stem,
               QWidget* parent = nullptr);

  [[nodiscard]] charts::FigureOptions options() const;
  [[nodiscard]] QString file() const;
  [[nodiscard]] const PagePreview* preview() const { return preview_; }
  /// The sentence under the choices: the page's size, or what is wrong.
  [[nodiscard]] QString message() const;

 Q_SIGNALS:
  /// Names every file that was written. The dialog has closed.
  void written(const QString& sentence);

 public Q_SLOTS:
  /// Writes after asking about each file that exists.
  void write();

 protected:
  void done(int result) override;

 private:
  [[nodiscard]] QWidget* build_form(const QString& stem);
  [[nodiscard]] QWidget* build_size();
  void restore();
  void remember() const;
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
  QComboBox* venue_;
  QDoubleSpinBox* width_;
  QCheckBox* own_height_;
  QDoubleSpinBox* height_;
  QDoubleSpinBox* font_;
  QCheckBox* title_;
  QCheckBox* caption_;
  QCheckBox* part_;
  QComboBox* format_;
  QSpinBox* dpi_;
  QCheckBox* csv_;
  QCheckBox* tex_;
  QLineEdit* file_;
  QLabel* message_;
  QPushButton* write_;
  PagePreview* preview_;
  bool writing_ = false;
  bool failed_ = false;  // the message says why nothing was written
};

}  // namespace attnscope::gui
