#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What pattern A costs, and pattern B beside it with their ratio: counts from the plans, the limit
// on this machine, and what each implementation would execute over the useful work.

#include <QAbstractTableModel>
#include <optional>

#include "app/gui/models/pattern_counts.h"
#include "app/gui/session/implementation_costs.h"

namespace attnscope::gui {

class PatternCostsModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { a_column, b_column, ratio_column };
  enum Row { tokens, pairs, density, flop, of_full, exponentials, bytes, limit, fixed_rows };

  struct Side {
    QString title;
    std::optional<PatternCounts> counts;
    QList<ForeseenCost> implementations;
  };

  explicit PatternCostsModel(QObject* parent = nullptr);

  void show_sides(const Side& a, const std::optional<Side>& b,
                  const std::optional<MachineCeilings>& machine);
  [[nodiscard]] const Side& side_a() const { return a_; }
  [[nodiscard]] const std::optional<Side>& side_b() const { return b_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  struct Value {
    std::optional<double> number;  // what ratios are made of
    QString text, note;
  };
  [[nodiscard]] Value value_of(const Side& side, int row) const;
  [[nodiscard]] Value implementation_value(const Side& side, const QString& id) const;
  [[nodiscard]] QString row_title(int row) const;
  [[nodiscard]] QString row_note(int row) const;

  Side a_;
  std::optional<Side> b_;
  std::optional<MachineCeilings> machine_;
  QStringList ids_;
};

}  // namespace attnscope::gui
