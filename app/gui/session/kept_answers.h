#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Questions to `attnscope` whose answers are files next to the database, where the window can
// reopen them; only the newest ones are kept. There is no time limit: models and texts take as long
// as they need.
//
//   CheckpointInspection inspection;
//   inspection.compute({.folder = folder, .query = query, .document = document});
//   ... answered(): inspection.problem(), or session.open(inspection.file());

#include <optional>

#include "app/gui/session/attention_session.h"
#include "app/gui/session/program.h"

namespace attnscope::gui {

/// Setting with the most recently requested folder.
inline const auto checkpoint_folder_key = QStringLiteral("attention/checkpoint/folder");

struct CheckpointQuestion {
  QString folder, query, document;
  std::optional<PatternChoice> attention{};  // absent: the checkpoint's own
};

/// Runs `attnscope inspect` to compute the attention of a checkpoint for a query and a document.
class CheckpointInspection : public ProgramQuestion {
 public:
  static constexpr int most_dumps = 8;

  explicit CheckpointInspection(QObject* parent = nullptr);

  void compute(const CheckpointQuestion& question);
  /// Folder of the dumps.
  [[nodiscard]] static QString folder();
  /// The dump that is being computed.
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  bool read(const QByteArray& printed) override;

  QString file_;
};

/// Runs `attnscope lengths` to count the tokens of a file of pairs with a checkpoint's tokenizer. A
/// question reads its lengths from the file.
class TextLengths : public ProgramQuestion {
 public:
  static constexpr int most_files = 8;

  explicit TextLengths(QObject* parent = nullptr);

  void count(const QString& checkpoint, const QString& pairs);
  /// Folder of the lengths.
  [[nodiscard]] static QString folder();
  /// The most recently counted lengths.
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  bool read(const QByteArray& printed) override;

  QString file_, name_;
};

}  // namespace attnscope::gui
