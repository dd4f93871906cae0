#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Training: starts trainings and overlays their curves as they grow: loss and nDCG@10 over
// steps, and the latest values.

#include <QVariantMap>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/gui/models/rows_model.h"
#include "app/gui/session/training_curves.h"
#include "app/gui/views/page.h"

class QTableView;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

class MessageBar;
class RunLauncher;
namespace Ui {
class TrainingPage;
}

class TrainingPage : public Page {
  Q_OBJECT
 public:
  explicit TrainingPage(RunLauncher* launcher, QWidget* parent = nullptr);
  ~TrainingPage() override;

  /// Adds a training's folder, or the curve in it, to those that are open.
  void open_file(const QString& file) { curves_.open(file); }
  void ask_for_training();
  void start_training();
  /// Closes the trainings of the selected rows; without a selection, the last one.
  void close_training();

  [[nodiscard]] bool has_table() const override { return !curves_.all().empty(); }
  void copy_table(report::TableFormat format) override;
  [[nodiscard]] bool has_figure() const override;
  void export_figure() override;
  [[nodiscard]] QList<PageActions> page_actions() const override;
  [[nodiscard]] QString run_words() const override { return tr("New run…"); }
  void run() override { Q_EMIT run_requested({}); }

  /// The open trainings, for restore() after a restart.
  [[nodiscard]] QVariantMap chosen() const;
  void restore(const QVariantMap& chosen);

  [[nodiscard]] charts::RunChart* chart() const;
  [[nodiscard]] QTableView* table() const;
  [[nodiscard]] MessageBar* messages() const { return messages_; }

 protected:
  void showEvent(QShowEvent* event) override;
  void hideEvent(QHideEvent* event) override;

 private:
  /// Row numbers in descending order; without a selection, the last row.
  [[nodiscard]] std::set<std::size_t, std::greater<>> chosen_rows() const;
  /// Folders of the selected trainings that were started here and are running.
  [[nodiscard]] QStringList chosen_that_go_on() const;
  void stop_training();
  void update_actions();
  void show_curves();

  RunLauncher* launcher_;
  TrainingCurves curves_;
  QAction* open_action_;
  QAction* stop_action_;
  QAction* close_action_;
  RowsModel<std::vector<std::string>> rows_;
  MessageBar* messages_;
  MessageBar* ended_;  // why the last training ended; shown until the next begins
  std::unique_ptr<Ui::TrainingPage> ui_;
  QStringList kept_;  // to open when the page is first shown
};

}  // namespace attnscope::gui
