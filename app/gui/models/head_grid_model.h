#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The heads of a dump, a layer a row, with a small map of each as it is computed; last, where there
// are several, their mean.

#include <QAbstractTableModel>
#include <QImage>
#include <memory>
#include <vector>

#include "app/gui/charts/chart_theme.h"
#include "engine/inspect/dump.h"
#include "engine/inspect/head_summary.h"

namespace attnscope::gui {

class HeadGridModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// Without pictures; they arrive by set_summary.
  void set_dump(const std::shared_ptr<const Dump>& dump);
  void set_summary(int layer, int head, const std::shared_ptr<const HeadSummary>& summary);
  void set_theme(charts::ChartTheme theme);
  /// "layer 3, head 1", as the model numbers them from 0.
  [[nodiscard]] QString name_of(int layer, int head) const;
  [[nodiscard]] int pictures() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  struct Head {
    std::shared_ptr<const HeadSummary> summary;
    QImage picture;
  };
  [[nodiscard]] std::size_t at(int layer, int head) const {
    return static_cast<std::size_t>(layer * columnCount() + head);
  }
  void draw(Head& head) const;

  std::vector<std::int64_t> layers_;
  int heads_ = 0;
  charts::ChartTheme theme_ = charts::ChartTheme::light;
  std::vector<Head> drawn_;
};

}  // namespace attnscope::gui
