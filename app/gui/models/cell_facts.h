#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The facts about one cell, in words: by section, or the sentence for one of its numbers.

#include <QString>
#include <vector>

#include "engine/report/pivot.h"

namespace attnscope::gui {

struct CellFact {
  QString name, value;
  bool warns = false;  // needs attention before the number is used
};

struct CellFacts {
  QString title;    // the contender
  QString brief;    // what distinguishes its heat from the run's others
  QString setting;  // every axis of the heat
  QString status;   // "ok", or the error and its reason
  bool failed = false;
  struct Section {
    QString name;
    std::vector<CellFact> facts;
  };
  std::vector<Section> sections;
};

[[nodiscard]] CellFacts cell_facts(const report::Table& table, const report::Row& row);

/// Tool tip of a number in a table: its interval, or why there is none.
[[nodiscard]] QString cell_tip(const report::Row& row, report::Quantity quantity);

}  // namespace attnscope::gui
