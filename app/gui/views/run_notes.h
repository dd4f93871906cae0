#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The user's notes on the selected runs, edited in place: their common tags and, for a single run,
// its note. Stored by Return and when the focus leaves; Esc reverts.

#include <QStringList>
#include <QWidget>
#include <vector>

class QLineEdit;
class QPlainTextEdit;

namespace attnscope::gui {

class ProblemLabel;
class StoreThread;
struct RunEntry;

class RunNotes : public QWidget {
  Q_OBJECT
 public:
  explicit RunNotes(QWidget* parent);
  /// Must be called first.
  void set_store(const StoreThread& store);

  /// Edits in progress are first stored for the runs that they belong to.
  void show_runs(const std::vector<const RunEntry*>& runs);
  /// Stores the name of a run, as edited in the list.
  void rename(const QString& uuid, const QString& name);
  /// Stores edits in progress. False: something waits to be stored, and settled() will follow.
  bool store_edits();
  [[nodiscard]] QLineEdit* tags() const { return tags_; }

 Q_SIGNALS:
  /// All edits have been stored or refused.
  void all_stored();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill();

  const StoreThread* store_ = nullptr;
  QLineEdit* tags_;
  QPlainTextEdit* note_;
  ProblemLabel* length_;
  QStringList uuids_, stored_tags_;
  QString stored_note_;  // or the one being edited
  int being_stored_ = 0;
};

}  // namespace attnscope::gui
