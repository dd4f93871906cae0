#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The tokens of a dump with the mass that each receives: their model, and the text that shows it.

#include <QAbstractTableModel>
#include <QListView>
#include <QStringList>
#include <memory>
#include <optional>
#include <vector>

#include "app/drawing/map.h"
#include "engine/inspect/dump.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::gui {

/// The tokens in order, with the mass that each receives from a selection of rows. A proxy sorts
/// them by mass (size_role); a text view shows them in sequence (text_role).
class AttendedTokensModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { token, mass, position, group, column_count };
  enum Role {
    mass_role = Qt::UserRole + 1,  // nothing: not computed (yet), or excluded
    size_role,                     // magnitude
    listed_role,                   // whether it has some mass
    group_role,
    text_role,    // without the tokenizer's marks
    joined_role,  // whether it continues the previous word
  };

  using QAbstractTableModel::QAbstractTableModel;

  void set_dump(const std::shared_ptr<const Dump>& dump);
  /// Mass by token, received from a mean row; for a difference, of either sign. Empty: not computed
  /// (yet). Tokens of groups other than `only` have none.
  void set_mass(std::vector<double> received, std::optional<TokenGroup> only, bool logarithmic,
                bool difference);
  [[nodiscard]] const charts::HeatScale& scale() const { return scale_; }
  /// The mass of each token; NaN for tokens without one.
  [[nodiscard]] const std::vector<double>& masses() const { return mass_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role) const override;

 private:
  void read_texts();

  std::shared_ptr<const Dump> dump_;
  QStringList texts_;
  std::vector<bool> joined_;
  std::vector<double> mass_;
  charts::HeatScale scale_;
};

/// A share in few digits: "12.3 %", "< 0.1 %", "−4.0 %".
[[nodiscard]] QString share_text(double share);

/// The tokens as running text, each on the colour of the mass it receives. Tokens are selected like
/// text: click, Shift+click or drag; arrow keys move, Shift+arrows extend, Escape clears.
class TokenText : public QListView {
  Q_OBJECT
 public:
  explicit TokenText(QWidget* parent = nullptr);
  /// Must be called first.
  void show_tokens(AttendedTokensModel* tokens);

  void set_chosen(std::optional<TokenRange> tokens);
  void set_marked(qint64 token);  // -1: none; scrolls to it unless it is visible

  [[nodiscard]] std::optional<TokenRange> chosen() const;
  [[nodiscard]] qint64 marked() const { return marked_; }

 Q_SIGNALS:
  void hovered(qint64 token);
  void tokens_chosen(attnscope::TokenRange tokens);
  void selection_cleared();

 protected:
  void selectionChanged(const QItemSelection& selected, const QItemSelection& deselected) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  void select(int from, int to);

  qint64 marked_ = -1;
  bool is_reported_ = false;  // the selection is being set by set_chosen()
};

}  // namespace attnscope::gui
