#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Runs `attnscope lengths` to count the tokens of a file of pairs with a checkpoint's tokenizer.
// The result is stored next to the database, where a question reads its lengths; only the newest
// ones are kept.
//
//   TextLengths lengths;
//   lengths.count(folder, pairs);
//   ... answered(): lengths.problem(), or lengths.file()

#include "app/gui/session/program.h"

namespace attnscope::gui {

class TextLengths : public ProgramQuestion {
 public:
  static constexpr int most_files = 8;

  /// There is no time limit: counting takes as long as the texts need.
  explicit TextLengths(QObject* parent = nullptr);

  void count(const QString& checkpoint, const QString& pairs);
  /// Folder of the lengths.
  [[nodiscard]] static QString folder();
  /// The most recently counted lengths.
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  bool read(const QByteArray& printed) override;

  QString file_, name_;
};

}  // namespace attnscope::gui
