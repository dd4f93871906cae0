#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Sweeps as files of a person's own: presets in a folder of the program's data, which the command
// line takes like any other sweep, and one that is open in an editor.

#include <QFileSystemWatcher>
#include <QString>
#include <QTemporaryDir>
#include <QTimer>
#include <optional>
#include <string>
#include <vector>

#include "engine/sweep/sweep.h"

namespace attnscope::gui {

/// By name; files that are no sweeps are left out.
[[nodiscard]] std::vector<NamedSweep> own_presets();
[[nodiscard]] bool is_own_preset(const QString& name);
/// Replaces one of the same name. The file's path, or why it cannot be.
[[nodiscard]] Result<QString> save_own_preset(const QString& name, const std::string& sweep_text);

class SweepFile : public QObject {
  Q_OBJECT
 public:
  explicit SweepFile(QObject* parent = nullptr);

  /// Writes the sweep, where one is given, and opens the file in what the desktop has for such.
  /// Returns nothing, or why not.
  [[nodiscard]] QString open(const std::string& sweep_text);
  /// What the editor's file should hold now, where it is open.
  void follow(const std::string& sweep_text);
  [[nodiscard]] bool is_open() const { return !watcher_.directories().isEmpty(); }
  [[nodiscard]] QString path() const { return folder_.filePath(QStringLiteral("sweep.json")); }
  /// Tells at once what would be told in a moment.
  void read();

 Q_SIGNALS:
  void edited(const std::string& sweep_text);
  /// It is gone, no file, or too large for a sweep.
  void unreadable(const QString& sentence);

 private:
  QTemporaryDir folder_;
  QFileSystemWatcher watcher_;
  QTimer pause_;                      // editors write in several steps
  std::optional<std::string> known_;  // nothing: it could not be read
};

}  // namespace attnscope::gui
