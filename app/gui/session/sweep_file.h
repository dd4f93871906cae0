#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A sweep as a file in the person's own editor, from which it is read whenever it is saved there,
// also by editors that put another file in its place.

#include <QFileSystemWatcher>
#include <QTemporaryDir>
#include <QTimer>
#include <optional>
#include <string>

namespace attnscope::gui {

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
