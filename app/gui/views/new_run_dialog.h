#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A new run: a preset, or an edited preset, in a form or in the user's own editor. Both represent
// the same sweep, and the last edited one starts. It is checked off the GUI thread at every edit;
// Ctrl+Return starts it and Esc closes the dialog, which keeps its contents.

#include <QDialog>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "app/gui/session/latest_job.h"
#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/worker_questions.h"

class QFormLayout;

namespace attnscope::gui {

class ContenderChips;
class ProblemLabel;
namespace Ui {
class NewRunDialog;
}

class NewRunDialog : public QDialog {
  Q_OBJECT
 public:
  explicit NewRunDialog(QWidget* parent = nullptr);
  ~NewRunDialog() override;

  /// Not modal: the window stays usable.
  void open() override;
  /// An unknown name changes nothing.
  void choose_preset(const QString& name);
  /// Starts from a sweep's JSON; an invalid sweep is refused.
  bool begin_with(const QString& sweep_text);
  /// Reports why another sweep cannot be loaded. The form keeps its contents, which can be started
  /// only after an edit.
  void refuse(const QString& sentence);
  void set_device(const QString& kind);
  void show_advanced(bool shown);

  /// The implementations on this machine; `problem`: why they are not known.
  void set_implementations(const QList<ListedImplementation>& implementations,
                           const QString& problem);
  void set_devices(const QList<ListedDevice>& devices);
  void set_forecast(const Forecast& forecast);
  /// Whether a new forecast is being computed: the current one is for another sweep.
  void set_estimating(bool estimating);
  /// Whether the check of the last edit is complete.
  [[nodiscard]] bool is_checked() const { return !job_.is_busy(); }
  [[nodiscard]] const CheckedDraft& checked() const { return checked_; }
  [[nodiscard]] ContenderChips* contenders() const;

 Q_SIGNALS:
  /// `now`: without waiting for other measurements.
  void start_requested(const std::string& sweep_text, bool now);
  /// Programs that add contenders to the built-in ones.
  void programs_named(const QStringList& programs);
  /// Requests a forecast of the sweep: what is possible, and its cost.
  void forecast_wanted(const std::string& sweep_text);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  struct Field {
    QWidget* control = nullptr;
    ProblemLabel* problem = nullptr;
  };
  void add_field(QFormLayout& form, const SweepField& field);

  void list_presets(const QString& chosen);
  void load_chosen();
  void load(const NamedSweep& preset);
  /// Marks the contents as no preset.
  void choose_custom();
  /// Shows a message about the preset or the file.
  void show_message(const QString& sentence);
  void save_preset();
  void open_file();
  void set_draft(const SweepDraft& draft);
  [[nodiscard]] SweepDraft draft() const;
  /// Labels the contenders as patterns or models, depending on the operation.
  void name_contenders();
  void name_programs();
  void form_edited();
  /// Checks on another thread, shows the result, and starts the run if start() was called.
  void check_later(std::function<CheckedDraft()> work);
  void show_checked(CheckedDraft checked);
  [[nodiscard]] QString why_not() const;
  void show_estimate();
  void start();

  std::vector<NamedSweep> presets_;  // shipped, then the user's own
  QString about_to_replace_;         // a preset
  std::string base_text_;            // source of the form's contents
  SweepFile* file_;
  Forecast forecast_;
  bool estimating_ = false;
  CheckedDraft checked_;
  bool from_file_ = false;        // the file was edited last
  bool file_is_wrong_ = false;    // it does not contain a valid sweep
  bool start_requested_ = false;  // start once it is checked
  QStringList programs_;
  QString start_tip_;     // tool tip of Start while it is enabled
  QString start_text_;    // of the button, unless the request does not fit
  QString list_problem_;  // why the implementations are not known
  QString unknown_;       // contenders that the program lacks, at the last check

  std::unique_ptr<Ui::NewRunDialog> ui_;
  std::map<QString, Field> fields_;
  LatestJob job_;  // declared last, so that it ends before other members are destroyed
};

}  // namespace attnscope::gui
