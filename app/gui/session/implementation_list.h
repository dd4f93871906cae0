#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Which implementations this machine has: asked once from `attnscope list implementations --json`,
// which asks the worker, because only the worker links LibTorch.

#include <QObject>
#include <QProcess>
#include <QStringList>

namespace attnscope::gui {

struct ListedImplementation {
  QString id;
  QString summary;
};

class ImplementationList : public QObject {
  Q_OBJECT
 public:
  explicit ImplementationList(QObject* parent = nullptr);
  void ask();
  [[nodiscard]] const QList<ListedImplementation>& implementations() const { return known_; }
  /// Why the list is not known; empty while it is asked for and when it is known.
  [[nodiscard]] const QString& problem() const { return problem_; }

 Q_SIGNALS:
  void changed();

 private:
  void read(int exit_code);
  void fail(const QString& sentence);

  QProcess process_;
  QList<ListedImplementation> known_;
  QString problem_;
};

/// The array that the command prints: objects with "id" and "summary".
[[nodiscard]] QList<ListedImplementation> read_implementations(const QByteArray& json);

}  // namespace attnscope::gui
