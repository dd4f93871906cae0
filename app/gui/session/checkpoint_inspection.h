#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Has `attnscope inspect` compute what a checkpoint attends to in one query with its document. The
// dump is kept beside the database, where the window can open it again; the newest few stay.
//
//   CheckpointInspection inspection;
//   connect(&inspection, &CheckpointInspection::written, session, &AttentionSession::open);
//   inspection.compute({.folder = folder, .query = query, .document = document});

#include <QObject>
#include <QProcess>
#include <QTemporaryDir>
#include <optional>

#include "app/gui/session/attention_session.h"

namespace attnscope::gui {

struct CheckpointQuestion {
  QString folder, query, document;
  std::optional<PatternChoice> attention{};  // absent: the checkpoint's own
};

class CheckpointInspection : public QObject {
  Q_OBJECT
 public:
  static constexpr int most_dumps = 8;

  explicit CheckpointInspection(QObject* parent = nullptr);
  ~CheckpointInspection() override;

  /// One at a time: what is computed before is given up.
  void compute(const CheckpointQuestion& question);
  void stop();
  [[nodiscard]] bool is_busy() const { return is_busy_; }
  /// Where the dumps lie.
  [[nodiscard]] static QString folder();

 Q_SIGNALS:
  void busy_changed();
  void written(const QString& file);
  void failed(const QString& sentence);

 private:
  void finished(int exit_code, QProcess::ExitStatus status);
  void end(const QString& problem);
  [[nodiscard]] bool write(const QString& name, const QByteArray& text);

  QProcess process_;
  QTemporaryDir texts_;  // what is handed over as files
  QString file_;
  bool is_busy_ = false;
};

}  // namespace attnscope::gui
