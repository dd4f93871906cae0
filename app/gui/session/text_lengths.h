#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Has `attnscope lengths` count a file of pairs in a checkpoint's tokens. What it counts is kept
// beside the database, where a question's lengths are read from; the newest few stay.
//
//   TextLengths lengths;
//   lengths.count(folder, pairs);
//   ... answered(): lengths.problem(), or lengths.file()

#include "app/gui/session/program.h"

namespace attnscope::gui {

class TextLengths : public ProgramQuestion {
 public:
  static constexpr int most_files = 8;

  /// As long as the texts need.
  explicit TextLengths(QObject* parent = nullptr);

  void count(const QString& checkpoint, const QString& pairs);
  /// Where the lengths lie.
  [[nodiscard]] static QString folder();
  /// The lengths that were counted last.
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  bool read(const QByteArray& printed) override;

  QString file_, name_;
};

}  // namespace attnscope::gui
