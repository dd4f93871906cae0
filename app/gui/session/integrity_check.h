#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The full check of a database, in the background: a thread and a connection of its own, and only
// the processor time that nobody else wants.
//
//   IntegrityCheck check(database);
//   connect(&check, &IntegrityCheck::damaged, messages, &MessageBar::show_error);
//   check.start(QThread::IdlePriority);

#include <QThread>
#include <atomic>
#include <filesystem>

namespace attnscope::gui {

class IntegrityCheck : public QThread {
  Q_OBJECT
 public:
  explicit IntegrityCheck(std::filesystem::path database, QObject* parent = nullptr);
  /// Ends a check that is still at work.
  ~IntegrityCheck() override;

 Q_SIGNALS:
  /// Names the damaged runs and the way out.
  void damaged(const QString& sentence);
  void damage_found(const QStringList& uuids);

 protected:
  void run() override;

 private:
  std::filesystem::path database_;
  std::atomic<bool> stop_{false};
};

}  // namespace attnscope::gui
