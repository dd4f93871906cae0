#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Runs `attnscope inspect` to compute the attention of a checkpoint for a query and a document. The
// dump is stored next to the database, where the window can reopen it; only the newest ones are
// kept.
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

class CheckpointInspection : public ProgramQuestion {
 public:
  static constexpr int most_dumps = 8;

  /// There is no time limit: the model takes as long as it needs.
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

}  // namespace attnscope::gui
