#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The sweeps of the new-run form: its contents and the sweep that results, the user's presets in
// the program's data folder, which the command line accepts like any other sweep, and the sweep
// that is open in an editor.

#include <QFileSystemWatcher>
#include <QList>
#include <QString>
#include <QStringList>
#include <QTemporaryDir>
#include <QTimer>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/sweep/sweep.h"

namespace attnscope::gui {

/// A field of a sweep in the form.
struct SweepField {
  QString key;   // path of the field in a sweep: "heads", "batch.max"
  QString name;  // display name
  QString tip;
  QString fallback;          // the value if the field is empty
  QStringList choices = {};  // the possible values, if they can be listed
  bool first = false;        // not under "Advanced"
};

/// In the order of the form.
[[nodiscard]] const QList<SweepField>& sweep_fields();

/// Pattern and implementation of a contender.
using PatternAndImplementation = std::pair<QString, QString>;

/// The contents of the new-run form, and the sweep that results. A field is a line of text: one
/// value, or a list of values, which makes the field an axis. What the form does not show (display
/// names, the sweep's own patterns, ...) comes from the preset it was filled from.
///
///   SweepDraft draft = draft_of(preset);
///   draft.fields["sequence_tokens"] = "64:4096:*2";
///   CheckedDraft checked = check(draft);
///   if (checked.ok()) launcher.start(checked.sweep_text);
struct SweepDraft {
  std::string base_text;  // the preset's JSON
  QString name;
  std::vector<PatternAndImplementation> contenders;
  std::map<QString, QString> fields;  // keyed by SweepField::key; includes empty fields
  friend bool operator==(const SweepDraft&, const SweepDraft&) = default;
};

struct CheckedDraft {
  /// By field, or "contenders"; problems of no field are under "".
  std::map<QString, QString> problems;
  std::string sweep_text;
  int heats = 0;
  int cells = 0;
  double longest_seconds = 0;
  [[nodiscard]] bool ok() const { return problems.empty(); }
  /// The first problem; empty: none.
  [[nodiscard]] QString problem() const { return ok() ? QString() : problems.begin()->second; }
};

[[nodiscard]] SweepDraft draft_of(const NamedSweep& preset);
/// An unchanged draft gives the preset's own text, byte for byte.
[[nodiscard]] CheckedDraft check(const SweepDraft& draft);
/// A sweep as typed text; errors are under "", with their line.
[[nodiscard]] CheckedDraft check_text(const std::string& sweep_text);

/// "40 s", "12 min", "3 h 20 min"; rounded up.
[[nodiscard]] QString duration_text(double seconds);

/// Sorted by name; files that are not sweeps are omitted.
[[nodiscard]] std::vector<NamedSweep> own_presets();
[[nodiscard]] bool is_own_preset(const QString& name);
/// Replaces a preset of the same name. Returns the file's path or an error.
[[nodiscard]] Result<QString> save_own_preset(const QString& name, const std::string& sweep_text);

class SweepFile : public QObject {
  Q_OBJECT
 public:
  explicit SweepFile(QObject* parent = nullptr);

  /// Writes the sweep, if one is given, and opens the file in the desktop's default application.
  /// Returns an empty string, or the error.
  [[nodiscard]] QString open(const std::string& sweep_text);
  /// Updates the editor's file, if it is open.
  void follow(const std::string& sweep_text);
  [[nodiscard]] bool is_open() const { return !watcher_.directories().isEmpty(); }
  [[nodiscard]] QString path() const { return folder_.filePath(QStringLiteral("sweep.json")); }
  /// Reports a change now, without waiting for the pause.
  void read();

 Q_SIGNALS:
  void edited(const std::string& sweep_text);
  /// The file is missing, not a regular file, or too large for a sweep.
  void unreadable(const QString& sentence);

 private:
  QTemporaryDir folder_;
  QFileSystemWatcher watcher_;
  QTimer pause_;                      // editors write in several steps
  std::optional<std::string> known_;  // nothing: it could not be read
};

}  // namespace attnscope::gui
