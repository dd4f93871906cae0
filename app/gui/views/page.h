#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The interface of every page to the bar above all pages, so that running, the baseline, copying a
// table and exporting a figure are one click away on every page.
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

  /// The possible baselines of the page's numbers, for the bar; empty: none now.
  [[nodiscard]] virtual QStringList baselines() const { return {}; }
  /// The selected baseline; empty: none.
  [[nodiscard]] virtual QString baseline() const { return {}; }
  virtual void set_baseline(const QString& baseline) { Q_UNUSED(baseline); }

  /// Whether there is a table to copy; copies it as text for spreadsheets, Markdown ...
  [[nodiscard]] virtual bool has_table() const = 0;
  virtual void copy_table(report::TableFormat format) = 0;

  /// Whether there is a figure to export; asks for a file and its options, then writes it.
  [[nodiscard]] virtual bool has_figure() const = 0;
  virtual void export_figure() = 0;

  /// The actions of this page that have shortcuts, for the menu and the list of shortcuts.
  struct PageActions {
    QString where;  // where the keys work: "In the list of runs"
    QList<QAction*> actions;
  };
  [[nodiscard]] virtual QList<PageActions> page_actions() const { return {}; }

  /// The text of the Run button here: "New run…", "New run with this pattern…".
  [[nodiscard]] virtual QString run_words() const = 0;
  /// Requests that measurement with run_asked; the window starts it or opens the form.
  virtual void run() = 0;

 Q_SIGNALS:
  /// The result of a function above has changed.
  void offers_changed();
  /// A sweep's JSON to fill the new-run form; empty: the form keeps its contents.
  void run_requested(const QString& sweep_text);
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);
};

}  // namespace attnscope::gui
