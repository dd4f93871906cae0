#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The contenders of a new run as a matrix: implementations, of which there are more, down, patterns
// across, a check where a pair takes part. Pairs that cannot be measured cannot be checked, and say
// why.

#include <QAbstractTableModel>
#include <QStringList>
#include <map>
#include <vector>

#include "app/gui/session/sweep_draft.h"

namespace attnscope::gui {

class ContenderMatrixModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Role {
    reason_role = Qt::UserRole + 1,  // why the pair cannot be measured; empty: it can
  };

  using QAbstractTableModel::QAbstractTableModel;

  struct Named {
    QString name;
    QString tip;
    friend bool operator==(const Named&, const Named&) = default;
  };
  /// Checks are kept by name; a checked pair that is not among the new names gets a line of its
  /// own.
  void set_names(const QList<Named>& patterns, const QList<Named>& implementations);
  void set_checked(const std::vector<PatternAndImplementation>& pairs);
  /// Those that cannot be measured, with the reasons. Checked ones stay so until they are
  /// unchecked.
  void set_impossible(std::map<PatternAndImplementation, QString> reasons);
  /// Why the pair cannot be measured; empty: it can, or nobody has said.
  [[nodiscard]] QString reason_against(const PatternAndImplementation& pair) const;
  /// In the order in which they were first checked.
  [[nodiscard]] const std::vector<PatternAndImplementation>& checked() const { return checked_; }
  [[nodiscard]] QModelIndex index_of(const QString& pattern, const QString& implementation) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;

 Q_SIGNALS:
  /// The user checked or unchecked a pair.
  void edited();

 private:
  [[nodiscard]] PatternAndImplementation pair_at(const QModelIndex& index) const;
  [[nodiscard]] bool is_checked(const PatternAndImplementation& pair) const;
  void add_missing_names();

  QList<Named> patterns_, implementations_;
  std::vector<PatternAndImplementation> checked_;
  std::map<PatternAndImplementation, QString> impossible_;
};

}  // namespace attnscope::gui
