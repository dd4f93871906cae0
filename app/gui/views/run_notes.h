#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a person says of the chosen runs, typed where it stands: their common tags and, of one
// alone, its note. Stored by Return and when the keyboard goes elsewhere; Esc takes it back.

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
  /// Before all else.
  void keep_in(const StoreThread& store);

  /// What is being typed is stored, of the runs that it was typed for.
  void show_runs(const std::vector<const RunEntry*>& runs);
  /// Of a run, as it was typed in the list.
  void rename(const QString& uuid, const QString& name);
  /// Stores what is being typed. False: something waits to be stored, and settled() will follow.
  bool keep();
  [[nodiscard]] QLineEdit* tags() const { return tags_; }

 Q_SIGNALS:
  /// All that was typed has been stored, or refused.
  void settled();

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void fill();

  const StoreThread* store_ = nullptr;
  QLineEdit* tags_;
  QPlainTextEdit* note_;
  ProblemLabel* length_;
  QStringList uuids_, stored_tags_;
  QString stored_note_;  // or the one that is being changed
  int being_stored_ = 0;
};

}  // namespace attnscope::gui
