#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Has `attnscope inspect` compute what a checkpoint attends to in one query with its document. The
// dump is kept beside the database, where the window can open it again; the newest few stay.
//
//   CheckpointInspection inspection;
//   inspection.compute({.folder = folder, .query = query, .document = document});
//   ... answered(): inspection.problem(), or session.open(inspection.file());

#include <optional>

#include "app/gui/session/attention_session.h"
#include "app/gui/session/program.h"

namespace attnscope::gui {

/// The setting with the folder that was asked for last.
inline const auto checkpoint_folder_key = QStringLiteral("attention/checkpoint/folder");

struct CheckpointQuestion {
  QString folder, query, document;
  std::optional<PatternChoice> attention{};  // absent: the checkpoint's own
};

class CheckpointInspection : public ProgramQuestion {
 public:
  static constexpr int most_dumps = 8;

  /// As long as the model needs.
  explicit CheckpointInspection(QObject* parent = nullptr);

  void compute(const CheckpointQuestion& question);
  /// Where the dumps lie.
  [[nodiscard]] static QString folder();
  /// The dump that is computed.
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  bool read(const QByteArray& printed) override;

  QString file_;
};

}  // namespace attnscope::gui
