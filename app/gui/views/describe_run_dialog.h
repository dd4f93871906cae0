#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A person's own words: name, tags and note of one run, or the tags of several at once.

#include <QDialog>

class QLineEdit;
class QPlainTextEdit;

namespace attnscope::gui {

class TagBar;

/// What the dialog begins with, and what it ends with.
struct OwnWords {
  QString name, note;
  QStringList tags;
};

class DescribeRunDialog : public QDialog {
  Q_OBJECT
 public:
  /// `runs` how many are described; for more than one there are only tags: those that all have.
  DescribeRunDialog(int runs, const OwnWords& words, const QStringList& known_tags,
                    QWidget* parent = nullptr);
  [[nodiscard]] OwnWords words() const;
  [[nodiscard]] QLineEdit* name() const { return name_; }
  [[nodiscard]] QLineEdit* tags() const { return tags_; }
  [[nodiscard]] QPlainTextEdit* note() const { return note_; }

 private:
  [[nodiscard]] QStringList typed_tags() const;

  QLineEdit* name_;
  QLineEdit* tags_;
  TagBar* known_;
  QPlainTextEdit* note_;
};

}  // namespace attnscope::gui
