#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a person says of the chosen runs, typed where it stands: their common tags and, of one
// alone, its note. Kept by Return and when the keyboard goes elsewhere; Esc takes it back.

#include <QStringList>
#include <QWidget>
#include <vector>

class QLineEdit;
class QPlainTextEdit;

namespace attnscope::gui {

struct RunEntry;

[[nodiscard]] QStringList tags_of(const RunEntry& entry);
/// The tags that all of these runs have.
[[nodiscard]] QStringList common_tags(const std::vector<const RunEntry*>& runs);

class RunNotes : public QWidget {
  Q_OBJECT
 public:
  explicit RunNotes(QWidget* parent = nullptr);

  /// What is being typed is kept, of the runs that it was typed for.
  void show_runs(const std::vector<const RunEntry*>& runs);
  [[nodiscard]] QLineEdit* tags() const { return tags_; }
  [[nodiscard]] QPlainTextEdit* note() const { return note_; }

 Q_SIGNALS:
  void tags_typed(const QStringList& uuids, const QStringList& added, const QStringList& removed);
  void note_typed(const QString& uuid, const QString& note);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void keep();
  void fill();

  QLineEdit* tags_;
  QPlainTextEdit* note_;
  QStringList uuids_, stored_tags_;
  QString stored_note_;
};

}  // namespace attnscope::gui
