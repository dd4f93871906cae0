#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// A checkpoint's folder, a query with its document and an attention pattern; what the model attends
// to is computed in the background, while the window goes on. What was typed is remembered. Queries
// and documents may come from a comparison of rankings (engine/report/differences.h), pair by pair.

#include <QDialog>
#include <QVariantMap>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/models/pattern_list_model.h"
#include "app/gui/session/checkpoint_inspection.h"

class QPushButton;

namespace attnscope::gui {
namespace Ui {
class CheckpointDialog;
}

class CheckpointDialog : public QDialog {
  Q_OBJECT
 public:
  explicit CheckpointDialog(QWidget* parent = nullptr);
  ~CheckpointDialog() override;

  /// Its first pair is taken.
  void open_comparison(const QString& file);

 Q_SIGNALS:
  /// The dialog is closed then. `beside`: what a PatternPicker chose to be set beside it.
  void written(const QString& file, const QVariantMap& beside);

 private:
  void build();
  void read_document(const QString& file);
  [[nodiscard]] Status read_comparison(const QString& file);
  void take_pair(int at);
  void compute();
  void busy_changed();
  void changed();

  PatternListModel patterns_;
  CheckpointInspection inspection_;
  std::unique_ptr<Ui::CheckpointDialog> ui_;
  QPushButton* compute_ = nullptr;
  std::vector<std::pair<std::string, std::string>> pairs_;  // texts of the comparison's
};

}  // namespace attnscope::gui
