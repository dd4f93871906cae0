#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A new run: a preset, or a preset changed, in a form or as the sweep file itself. Both are the
// same sweep, and whichever was edited last is what starts. It is checked off the window's thread
// at every edit; Ctrl+Return starts it and Esc closes the drawer.

#include <functional>

#include "app/gui/charts/latest_job.h"
#include "app/gui/session/device_list.h"
#include "app/gui/session/implementation_list.h"
#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/sweep_forecast.h"
#include "app/gui/views/drawer.h"

class QLabel;
class QPushButton;
class QTabWidget;

namespace attnscope::gui {

class PresetBar;
class ProblemLabel;
class SweepFileEdit;
class SweepForm;

class NewRunDrawer : public Drawer {
  Q_OBJECT
 public:
  explicit NewRunDrawer(QWidget* page);

  void choose_preset(const QString& name);
  /// Begins with a sweep's JSON; what is no sweep is refused.
  bool begin_with(const QString& sweep_text);
  /// Says why another sweep cannot be begun with. What is filled in stays, and starts after an edit
  /// alone.
  void refuse(const QString& sentence);
  /// The same sweep at these lengths.
  void set_lengths(const QList<qint64>& tokens);
  void set_device(const QString& kind);

  /// The implementations this machine has; `problem` says why they are not known.
  void set_implementations(const QList<ListedImplementation>& implementations,
                           const QString& problem);
  void set_devices(const QList<ListedDevice>& devices);
  void set_forecast(const Forecast& forecast);
  /// set_implementations has been called.
  [[nodiscard]] bool is_listed() const { return listed_; }
  /// What the last edit is has been found out.
  [[nodiscard]] bool is_checked() const { return !job_.is_busy(); }
  [[nodiscard]] const CheckedDraft& checked() const { return checked_; }
  [[nodiscard]] SweepForm* form() const { return form_; }
  void show_file(bool shown);

 Q_SIGNALS:
  void start_asked(const std::string& sweep_text);
  /// Of which it should be foreseen what is possible and what it takes.
  void forecast_wanted(const std::string& sweep_text);

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;

 private:
  QWidget* build_head();
  QWidget* build_foot();
  void load(const NamedSweep& preset);
  void form_edited();
  void file_edited(const QString& text);
  /// On another thread; then shows what was found, and starts if that was asked for meanwhile.
  void check_later(std::function<CheckedDraft()> work);
  void show_checked(CheckedDraft checked);
  void show_estimate();
  void start();

  Forecast forecast_;
  CheckedDraft checked_;
  bool from_file_ = false;   // the file was edited last
  bool start_wish_ = false;  // once it is checked
  bool listed_ = false;

  PresetBar* presets_;
  QTabWidget* tabs_;
  SweepForm* form_;
  SweepFileEdit* file_;
  ProblemLabel* problem_;
  QLabel* estimate_;
  QPushButton *start_, *close_;
  charts::LatestJob job_;  // last, so that it has ended before anything else goes
};

}  // namespace attnscope::gui
