#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a run's chosen slice answers to a question. Away from the GUI thread: a file of lengths may
// have millions of lines.

#include <QString>
#include <functional>
#include <memory>
#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/report/answer.h"
#include "engine/report/question.h"

namespace attnscope::gui {

/// What is asked, but for lengths that are still in their file.
struct AskedQuestion {
  report::Question question = {};
  QString lengths_file = {};  // empty: the question has them
  friend bool operator==(const AskedQuestion&, const AskedQuestion&) = default;
};

struct AnswerSnapshot {
  std::vector<report::Answer> settings;  // one, unless panels stand for an axis
  QString lengths_problem;               // the file of lengths could not be read
};
using AnswerPointer = std::shared_ptr<const AnswerSnapshot>;

[[nodiscard]] AnswerPointer find_answer(const RunSnapshot& run, const AskedQuestion& asked);

}  // namespace attnscope::gui
