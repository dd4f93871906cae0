#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The files that the user opens, drops on the window or names on the command line: the kind of
// each, the recently opened files, which are kept across restarts, and non-blocking file dialogs:
// the window continues to follow its run while they are open.
//
//   Result<FileKind> kind = kind_of("mine.json");   // sweep

#include <QString>
#include <QStringList>
#include <QWidget>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/result.h"

class QLineEdit;

namespace attnscope::gui {

enum class FileKind : std::uint8_t { database, exported_runs, sweep, pattern, dump, training };

/// Determined from the extension and, if that is ambiguous, the first bytes or fields; for a
/// folder, from its contents. An error lists what can be opened.
[[nodiscard]] Result<FileKind> kind_of(const std::filesystem::path& file);

/// Absolute paths, at most ten; missing files are omitted until they exist again, e.g. on a drive
/// that is not mounted.
[[nodiscard]] QStringList recent_files();
[[nodiscard]] QStringList recent_files(FileKind kind);
/// The kind is stored with the path: a menu of one kind does not read the files.
void remember_file(const QString& file, FileKind kind);
void forget_files();

/// The folder of the last written file, or the documents folder.
[[nodiscard]] QString folder_for_new_files();
void remember_folder_of(const QString& file);

/// The first of the endings is the default; a name without a folder goes to the last file's folder.
void ask_for_new_file(QWidget* parent, const QString& title, const QString& suggestion,
                      const QStringList& endings, std::function<void(const QString&)> chosen);
void ask_for_file(QWidget* parent, const QString& title, const QString& filter,
                  std::function<void(const QString&)> chosen);
/// `first`: the initial folder.
void ask_for_folder(QWidget* parent, const QString& title, const QString& first,
                    std::function<void(const QString&)> chosen);

/// The path of a file or a folder: typed, or chosen in a dialog.
class FileField : public QWidget {
  Q_OBJECT
  Q_PROPERTY(bool of_folder MEMBER of_folder_)
  Q_PROPERTY(QString placeholder READ placeholder WRITE set_placeholder)
 public:
  explicit FileField(QWidget* parent = nullptr);
  [[nodiscard]] QString text() const;  // trimmed
  void set_text(const QString& path);
  [[nodiscard]] QString placeholder() const;
  void set_placeholder(const QString& text);
  [[nodiscard]] QLineEdit* line() const { return line_; }

 Q_SIGNALS:
  /// The user chose a path in the dialog.
  void chosen();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void choose();

  QLineEdit* line_;
  bool of_folder_ = false;
};

}  // namespace attnscope::gui
