#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A new run: a preset, or a preset changed, in a form or in the person's own editor. Both are the
// same sweep, and whichever was edited last is what starts. It is checked off the window's thread
// at every edit; Ctrl+Return starts it and Esc closes the dialog, which keeps what is filled in.

#include <QDialog>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "app/gui/background/latest_job.h"
#include "app/gui/session/sweep_draft.h"
#include "app/gui/session/sweep_files.h"
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

  /// Beside the window, which stays alive.
  void open() override;
  /// An unknown name changes nothing.
  void choose_preset(const QString& name);
  /// Begins with a sweep's JSON; what is no sweep is refused.
  bool begin_with(const QString& sweep_text);
  /// Says why another sweep cannot be begun with. What is filled in stays, and starts after an edit
  /// alone.
  void refuse(const QString& sentence);
  void set_device(const QString& kind);
  void show_advanced(bool shown);

  /// The implementations this machine has; `problem` says why they are not known.
  void set_implementations(const QList<ListedImplementation>& implementations,
                           const QString& problem);
  void set_devices(const QList<ListedDevice>& devices);
  void set_forecast(const Forecast& forecast);
  /// Whether another forecast is being made: the last one is of another sweep.
  void set_foreseeing(bool foreseeing);
  /// What the last edit is has been found out.
  [[nodiscard]] bool is_checked() const { return !job_.is_busy(); }
  [[nodiscard]] const CheckedDraft& checked() const { return checked_; }
  [[nodiscard]] ContenderChips* contenders() const;

 Q_SIGNALS:
  /// `now`: without waiting for other measurements.
  void start_asked(const std::string& sweep_text, bool now);
  /// Whose contenders there are to be besides the built-in ones.
  void programs_named(const QStringList& programs);
  /// Of which it should be foreseen what is possible and what it takes.
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
  void build_form();
  void add_field(QFormLayout& form, const SweepField& field);

  void list_presets(const QString& chosen);
  void load_chosen();
  void load(const NamedSweep& preset);
  /// What is filled in is no preset any more.
  void choose_custom();
  /// Of the preset or the file.
  void say(const QString& sentence);
  void save_preset();
  void open_file();
  void set_draft(const SweepDraft& draft);
  [[nodiscard]] SweepDraft draft() const;
  /// Patterns or models, as the operation has it.
  void name_contenders();
  void name_programs();
  void form_edited();
  void file_edited(const std::string& text);
  void file_unreadable(const QString& sentence);
  /// On another thread; then shows what was found, and starts if that was asked for meanwhile.
  void check_later(std::function<CheckedDraft()> work);
  void show_checked(CheckedDraft checked);
  [[nodiscard]] QString why_not() const;
  void show_estimate();
  void start();

  std::vector<NamedSweep> presets_;  // those that ship, then one's own
  QString about_to_replace_;         // one of them
  std::string base_text_;            // what the form was filled from
  SweepFile* file_;
  Forecast forecast_;
  bool foreseeing_ = false;
  CheckedDraft checked_;
  bool from_file_ = false;      // the file was edited last
  bool file_is_wrong_ = false;  // what it holds is no sweep
  bool start_wish_ = false;     // once it is checked
  QStringList programs_;
  QString start_words_;   // the tool tip of Start, where it is possible
  QString start_text_;    // of the button, unless what is asked for does not fit
  QString said_of_list_;  // why it is not known which implementations there are
  QString unknown_;       // what this program does not have, when it was looked at last

  std::unique_ptr<Ui::NewRunDialog> ui_;
  std::map<QString, Field> fields_;
  LatestJob job_;  // last, so that it has ended before anything else goes
};

}  // namespace attnscope::gui
