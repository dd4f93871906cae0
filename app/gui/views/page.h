#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What every page offers to the bar above all pages, so that running, the baseline, copying a table
// and exporting a figure are one click away wherever a person is.
//
//   class PatternsPage : public Page { ... };
//   connect(page, &Page::offers_changed, bar, [=] { bar->show_offers(*page); });

#include <QAction>
#include <QStringList>
#include <QWidget>

#include "engine/report/table.h"

namespace attnscope::gui {

class Page : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;

  /// What the page's numbers can be set against, for the bar to offer; empty: nothing now.
  [[nodiscard]] virtual QStringList baselines() const { return {}; }
  /// The chosen one; empty: none.
  [[nodiscard]] virtual QString baseline() const { return {}; }
  virtual void set_baseline(const QString& baseline) { Q_UNUSED(baseline); }

  /// Whether there is a table to copy now; copies it as text that a spreadsheet takes, Markdown ...
  [[nodiscard]] virtual bool has_table() const = 0;
  virtual void copy_table(report::TableFormat format) = 0;

  /// Whether there is a figure to export now; asks for a file and its options, then writes it.
  [[nodiscard]] virtual bool has_figure() const = 0;
  virtual void export_figure() = 0;

  /// What can be done on this page and has a shortcut, for the menu and the list of shortcuts.
  struct PageActions {
    QString where;  // that the keys work: "In the list of runs"
    QList<QAction*> actions;
  };
  [[nodiscard]] virtual QList<PageActions> page_actions() const { return {}; }

  /// What a press on Run measures here: "New run…", "New run with this pattern…".
  [[nodiscard]] virtual QString run_words() const = 0;
  /// Asks for that measurement with run_asked; the window starts it or opens the form.
  virtual void run() = 0;

 Q_SIGNALS:
  /// Any of the answers above became another.
  void offers_changed();
  /// A sweep's JSON to begin the new-run form with; empty: the form as it stands.
  void run_asked(const QString& sweep_text);
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);
};

}  // namespace attnscope::gui
