#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The user's sweep files: presets in the program's data folder, which the command line accepts like
// any other sweep, and the sweep that is open in an editor.

#include <QFileSystemWatcher>
#include <QString>
#include <QTemporaryDir>
#include <QTimer>
#include <optional>
#include <string>
#include <vector>

#include "engine/sweep/sweep.h"

namespace attnscope::gui {

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
