#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The bar above all pages: run or cancel, the device, the baseline, copy table, export figure; each
// is one click away on every page and enabled if the current page supports it (Page).

#include <QToolBar>

#include "app/gui/session/worker_questions.h"
#include "engine/report/table.h"

class QAction;
class QComboBox;
class QPushButton;

namespace attnscope::gui {

class Page;

class CommandBar : public QToolBar {
  Q_OBJECT
 public:
  explicit CommandBar(QWidget* parent = nullptr);

  /// Sets the page whose commands the bar shows.
  void set_page(Page* page);
  void set_devices(const QList<ListedDevice>& devices);
  void choose_device(const QString& kind);
  /// The sweep's name of the selected device; "cpu" until another is selected.
  [[nodiscard]] QString device() const;
  /// The run being measured, which can be cancelled; empty: none.
  void set_live(const QString& uuid);
  /// Called after a cancel that did not reach the run.
  void allow_cancel();
  /// Why no run can be started; empty: one can.
  void set_refused(const QString& reason);

  [[nodiscard]] QPushButton* run_button() const { return run_button_; }
  [[nodiscard]] QAction* run_action() const { return run_; }
  [[nodiscard]] QAction* cancel_action() const { return cancel_; }
  [[nodiscard]] QAction* copy_action() const { return copy_; }
  [[nodiscard]] QAction* export_action() const { return export_; }
  [[nodiscard]] QComboBox* device_picker() const { return device_; }

 Q_SIGNALS:
  void cancel_requested(const QString& uuid);
  void device_chosen(const QString& kind);

 private:
  QPushButton* add_button(QAction* action, const char* name);
  void add_copy_button();
  void copy_table(report::TableFormat format);
  void add_picker(const QString& caption, QComboBox* picker);
  void show_offers();

  Page* page_ = nullptr;
  QString refused_, live_;
  report::TableFormat format_ = report::TableFormat::text;  // of the last table copied
  QAction *run_, *cancel_, *copy_, *export_;
  QAction* baseline_place_ = nullptr;  // visible if the page has baselines
  QAction* cancel_place_ = nullptr;    // of its button; visible while a run can be cancelled
  QPushButton* run_button_;
  QComboBox *device_, *baseline_;
};

}  // namespace attnscope::gui
