#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// One run: its charts above its tabs, which share the height, and the selectors of what the charts
// show.

#include <QSizePolicy>
#include <QSplitter>
#include <QWidget>
#include <memory>
#include <optional>

#include "app/gui/session/snapshot.h"
#include "engine/report/slice.h"

class QComboBox;
class QFormLayout;
class QLabel;
class QTabWidget;

namespace attnscope::charts {
class RunChart;
}

namespace attnscope::gui {

/// A selector for every axis that the charts hold fixed, below the selectors of the drawn
/// quantities. Values that were not measured with the other choices are in parentheses; selecting
/// one changes the others to the nearest measured combination, and a sentence reports it.
class SliceFields : public QWidget {
  Q_OBJECT
 public:
  explicit SliceFields(QWidget* parent = nullptr);

  /// Adds a control above the selectors.
  void add_leading(const QString& label, QComboBox* control);
  void set_shown(QComboBox* control, bool shown);
  void show_slice(const report::Slice& slice);
  /// The fixed values: "window all, dtype float16".
  [[nodiscard]] QStringList in_words() const;

 Q_SIGNALS:
  void chosen(const QString& key, const QString& value);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void rebuild();
  void fill();

  report::Slice slice_;
  QList<QComboBox*> selectors_;  // one per slice_.axes
  QFormLayout* form_;
  QLabel* moved_;
};

/// A run's charts above its tabs; both share the available height. If it is too small for both, the
/// charts become the last tab, so that only a table has scroll bars and no scroll area contains
/// another.
class RunHalves : public QSplitter {
 public:
  RunHalves(QWidget* charts, QTabWidget* tabs);

  /// Must be called when the current tab changes: the tab bar keeps its position, and the charts
  /// are folded if the tab needs their room.
  void fold_or_unfold();
  /// Called when the user changes the content of the charts: if they are a tab, or become one, that
  /// tab is made current.
  void bring_charts();
  /// Whether the charts are a tab.
  [[nodiscard]] bool is_folded() const;
  [[nodiscard]] QSize sizeHint() const override { return minimumSizeHint(); }
  /// Only the current tab's.
  [[nodiscard]] QSize minimumSizeHint() const override;

 protected:
  bool event(QEvent* event) override;

 private:
  /// Smallest height of the tabs; if the charts are the current tab, that of the last other tab.
  [[nodiscard]] int least_of_tabs() const;

  QWidget* charts_;
  QTabWidget* tabs_;
  QWidget* lower_ = nullptr;  // the current tab, or the last current one
  QSizePolicy of_charts_;
  QList<int> unfolded_;             // sizes
  bool charts_are_wanted_ = false;  // until another tab is selected
};

class CellPanel;
class PopupButton;
class RunTable;
namespace Ui {
class RunView;
}

/// One run: its verdict, its fixed values, its charts and, below them in tabs, the table, the
/// selected cell and its samples, and further tabs of the owner.
class RunView : public QWidget {
  Q_OBJECT
 public:
  explicit RunView(QWidget* parent = nullptr);
  ~RunView() override;

  /// Requests the run with the axes and the baseline selected here. `is_own`: it can be continued
  /// and measured again.
  void choose_run(const QString& uuid, bool is_own = true);
  void show_run(const RunPointer& run);
  /// Progress of the shown run while it is live: it may be paused.
  void show_progress(const std::optional<Progress>& progress);
  /// The shown run, the fixed values of its charts and its panels, for restore() after a restart;
  /// restore() requests nothing yet.
  [[nodiscard]] QVariantMap chosen() const;
  void restore(const QVariantMap& chosen);
  [[nodiscard]] const RunPointer& run() const { return run_; }
  /// The line below the title: the run's status, the device, and the values that do not vary.
  [[nodiscard]] QString detail() const;

  void set_preferred_baseline(const QString& contender);
  [[nodiscard]] const QString& preferred_baseline() const { return baseline_preference_; }

  /// Time next to memory or another selected view; or both for each value of an axis.
  [[nodiscard]] charts::RunChart* chart() const { return chart_; }
  /// The button that opens all settings of the charts.
  [[nodiscard]] PopupButton* choices() const;
  [[nodiscard]] SliceFields* slice() const { return slice_fields_; }
  [[nodiscard]] RunTable* run_table() const { return table_; }
  [[nodiscard]] CellPanel* cell_panel() const { return panel_; }

  /// The run's contenders, and the current baseline of its numbers; empty: none.
  [[nodiscard]] QStringList contenders() const;
  [[nodiscard]] QString baseline() const;
  void set_baseline(const QString& contender);

  void choose_cell(std::size_t table_row);
  /// The only tab that needs little height.
  static constexpr const char* answer_tab = "answer";
  /// Adds a tab below the charts, before the tab at `place` (< 0: at the end). `name` is the tab's
  /// key in the stored settings.
  void add_tab(QWidget* content, const QString& title, const QString& name, int place = -1);
  /// "table", "cell", "samples"; an unknown name changes nothing.
  void show_tab(const QString& name);
  [[nodiscard]] QTabWidget* tabs() const { return tabs_; }

  /// The table as shown.
  void copy_table(report::TableFormat format);
  void export_table(report::TableFormat format);
  /// Asks for options, and writes the charts as shown.
  void export_figure();
  [[nodiscard]] bool has_figure() const;

 Q_SIGNALS:
  void run_wanted(const attnscope::gui::RunRequest& request);
  void again_requested(const QString& uuid);
  /// Requests the measurements that the run still lacks.
  void resume_requested(const QString& uuid);
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);

 private:
  void build_head();
  QWidget* build_body();
  void build_actions();
  void wire();
  void request_run();
  void show_head(const RunSnapshot& run);
  void show_choices(const RunSnapshot& run);
  [[nodiscard]] bool has_second_view() const;
  void show_detail(const RunSnapshot& run);
  /// Selects one of the run's cells; false: the table has no cell of that number.
  bool choose_numbered(std::int64_t cell);
  void show_figures(const RunSnapshot& run);
  void show_verdict(const RunSnapshot& run);

  std::unique_ptr<Ui::RunView> ui_;
  QComboBox* first_view_;
  QComboBox* second_view_;
  QComboBox* x_axis_;
  QComboBox* facets_;
  SliceFields* slice_fields_;
  charts::RunChart* chart_;
  RunTable* table_;
  CellPanel* panel_;
  QTabWidget* tabs_;
  RunHalves* halves_ = nullptr;

  RunPointer run_;
  std::optional<Progress> progress_;
  QString uuid_;
  bool is_own_ = true;
  QString baseline_preference_;
  bool no_baseline_ = false;  // the user chose none
  report::XAxis x_requested_ = report::XAxis::length;
  report::SliceWish slice_;
  std::string facet_;
  std::optional<std::int64_t> chosen_cell_;  // its number in the run
};

}  // namespace attnscope::gui
