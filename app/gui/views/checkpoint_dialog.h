#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Takes a checkpoint's folder, a query with its document and an attention pattern; the model's
// attention is computed in the background while the window stays usable. Input is remembered.
// Queries and documents may come from a comparison of rankings (engine/report/effectiveness.h),
// pair by pair.

#include <QDialog>
#include <QVariantMap>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/models/pattern_editor.h"
#include "app/gui/session/worker_questions.h"

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

  /// Selects the first pair of the comparison.
  void open_comparison(const QString& file);

 Q_SIGNALS:
  /// Emitted as the dialog closes. `alongside`: the choice of the PatternPicker to compare with.
  void written(const QString& file, const QVariantMap& alongside);

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
  std::vector<std::pair<std::string, std::string>> pairs_;  // texts of the comparison's pairs
};

}  // namespace attnscope::gui
