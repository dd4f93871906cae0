#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of an answer as one should read them, each a sentence; what one must know of all
// of them follows as rows of its own.

#include <QAbstractListModel>
#include <optional>

#include "engine/report/answer.h"

namespace attnscope::gui {

class AdviceModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role {
    place_role = Qt::UserRole + 1,  // from 1 among those within the limits; 0: none
    style_key_role,                 // contender id, bound to the line style of the charts
    standing_role,                  // report::Standing as int
    verdict_role,                   // statistics::Verdict as int; invalid without a ratio
    verdict_words_role,             // "faster", "no difference shown", "baseline", "too slow" ...
    baseline_role,                  // whether the others are set against it
    time_role,                      // ms for all candidates; invalid without a time
    interpolated_role,              // whether a number of it was carried between two lengths
    remarks_role,                   // sentences that belong to it
    note_role,                      // whether the row is a note on all of them
  };

  using QAbstractListModel::QAbstractListModel;

  /// Nothing: no answer.
  void set_advice(std::optional<report::Answer> advice);
  [[nodiscard]] const std::optional<report::Answer>& advice() const { return advice_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

  /// Sentence and remarks, one a line: what is copied of a row.
  [[nodiscard]] QString text_of(const QModelIndex& index) const;
  /// The row of a contender; invalid where the answer has it not.
  [[nodiscard]] QModelIndex index_of(const QString& contender) const;

 private:
  [[nodiscard]] QVariant contender_data(std::size_t place, int role) const;
  [[nodiscard]] QVariant note_data(std::size_t place, int role) const;

  std::optional<report::Answer> advice_;
};

}  // namespace attnscope::gui
