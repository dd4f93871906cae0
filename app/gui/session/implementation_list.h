#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Which implementations this machine has: asked once from `attnscope list implementations --json`,
// which asks the worker, because only the worker links LibTorch.

#include "app/gui/session/program_question.h"

namespace attnscope::gui {

struct ListedImplementation {
  QString id;
  QString summary;
};

class ImplementationList : public ProgramQuestion {
 public:
  explicit ImplementationList(QObject* parent = nullptr) : ProgramQuestion(parent) {}
  /// Again only where there was no answer.
  void ask();
  [[nodiscard]] const QList<ListedImplementation>& implementations() const { return known_; }

 private:
  bool read(const QByteArray& printed) override;

  QList<ListedImplementation> known_;
};

}  // namespace attnscope::gui
