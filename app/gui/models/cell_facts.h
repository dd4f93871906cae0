#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What is known of one cell, in words: by section, or the sentence behind one of its numbers.

#include <QString>
#include <vector>

#include "engine/report/pivot.h"

namespace attnscope::gui {

struct CellFact {
  QString name, value;
  bool warns = false;  // worth a second look before the number is used
};

struct CellFacts {
  QString title;    // the contender
  QString brief;    // what tells its heat from the run's others
  QString setting;  // every axis of it
  QString status;   // "ok", or what happened and why
  bool failed = false;
  struct Section {
    QString name;
    std::vector<CellFact> facts;
  };
  std::vector<Section> sections;
};

[[nodiscard]] CellFacts cell_facts(const report::Table& table, const report::Row& row);

/// Behind the number that a table shows: its interval, or why there is none.
[[nodiscard]] QString cell_tip(const report::Row& row, report::Quantity quantity);

}  // namespace attnscope::gui
