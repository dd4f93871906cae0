#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Page Training, its curves, which are read again as they grow, and its dialog for a new training.

#include <QDialog>
#include <QObject>
#include <QString>
#include <QTimer>
#include <QVariantMap>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/gui/models/pattern_editor.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/latest_job.h"
#include "app/gui/views/page.h"
#include "base/result.h"
#include "engine/report/training_curve.h"

class QPushButton;
class QTableView;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

/// Open trainings: their curves are read again as they grow, on a separate thread. The files are
/// polled every second, since some file systems do not report changes.
///
///   TrainingCurves curves;
///   connect(&curves, &TrainingCurves::changed, ...);   // curves.all()
///   curves.open("out");
///   curves.set_watching(true);
class TrainingCurves : public QObject {
  Q_OBJECT
 public:
  explicit TrainingCurves(QObject* parent = nullptr);

  /// Opens a training's folder or the curve in it, after those that are open. A training that is
  /// already open keeps its place.
  void open(const QString& place);
  /// `at`: the index in all().
  void close(std::size_t at);
  /// While false, only newly opened files are read.
  void set_watching(bool watching);
  [[nodiscard]] const std::vector<TrainingCurve>& all() const { return curves_; }

 Q_SIGNALS:
  void changed();
  void opened(const QString& file);
  /// The training could not be opened; or it was open, and its earlier data is kept.
  void failed(const QString& sentence, const QString& file);

 private:
  /// State of a file at the time of reading.
  struct Look {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type time;
    friend bool operator==(const Look&, const Look&) = default;
  };
  struct Followed {
    std::filesystem::path file;
    std::optional<Look> seen = std::nullopt;  // nothing: the file was missing
    bool is_open = true;                      // false: to be opened
  };
  struct Answer {
    Followed of;
    Result<TrainingCurve> curve;
  };
  [[nodiscard]] static std::optional<Look> look_at(const std::filesystem::path& file);
  void poll();
  void take(std::vector<Answer> answers);

  std::vector<TrainingCurve> curves_;
  std::vector<Followed> followed_;              // one per curve
  std::vector<std::filesystem::path> to_open_;  // and of those not read yet
  QTimer second_;
  LatestJob job_;
};

class RunLauncher;
namespace Ui {
class TrainingDialog;
class TrainingPage;
}  // namespace Ui

/// The options of `attnscope train`. The training starts as a separate process, as runs do, which
/// checks all input; the dialog stays open until the first step's curve exists, or shows the error
/// of the process. Input is remembered.
class TrainingDialog : public QDialog {
  Q_OBJECT
 public:
  explicit TrainingDialog(RunLauncher* launcher, QWidget* parent = nullptr);
  ~TrainingDialog() override;

 private:
  void restore();
  void keep() const;
  void check();
  void start();
  void set_waiting(bool waiting);
  [[nodiscard]] QStringList arguments() const;

  RunLauncher* launcher_;
  PatternListModel patterns_;
  std::unique_ptr<Ui::TrainingDialog> ui_;
  QPushButton* start_ = nullptr;
};

/// Page Training: starts trainings and overlays their curves as they grow: loss and nDCG@10 over
/// steps, and the latest values.
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
  [[nodiscard]] QString run_text() const override { return tr("New run…"); }
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
  [[nodiscard]] QStringList running_selection() const;
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
