#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The frame of every page: its interface, the bar with its commands, and the bar for messages.

#include <QAction>
#include <QFrame>
#include <QKeySequence>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <QToolBar>
#include <QWidget>
#include <functional>

#include "app/gui/session/worker_questions.h"
#include "engine/report/table.h"

class QBoxLayout;
class QComboBox;
class QLabel;
class QPushButton;
class QToolButton;

namespace attnscope::gui {

/// The interface of every page to the bar above all pages, so that running, the baseline, copying a
/// table and exporting a figure are one click away on every page.
///
///   class PatternsPage : public Page { ... };
///   connect(page, &Page::offers_changed, bar, [=] { bar->show_offers(*page); });
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
  [[nodiscard]] virtual QString run_text() const = 0;
  /// Emits run_requested for that run; the window starts it or opens the form.
  virtual void run() = 0;

 Q_SIGNALS:
  /// The result of a function above has changed.
  void offers_changed();
  /// A sweep's JSON to fill the new-run form; empty: the form keeps its contents.
  void run_requested(const QString& sweep_text);
  void succeeded(const QString& sentence);
  void failed(const QString& sentence);
};

/// The bar above all pages: run or cancel, the device, the baseline, copy table, export figure;
/// each is one click away on every page and enabled if the current page supports it (Page).
class CommandBar : public QToolBar {
  Q_OBJECT
 public:
  explicit CommandBar(QWidget* parent = nullptr);

  /// Sets the page whose commands the bar shows.
  void set_page(Page* page);
  void set_devices(const QList<ListedDevice>& devices);
  void choose_device(const QString& kind);
  /// The sweep's name of the selected device; "cpu" until another is selected.
  [[nodiscard]] QString device() const;
  /// The run being measured, which can be cancelled; empty: none.
  void set_live(const QString& uuid);
  /// Called after a cancel that did not reach the run.
  void allow_cancel();
  /// Why no run can be started; empty: one can.
  void set_refused(const QString& reason);

  [[nodiscard]] QPushButton* run_button() const { return run_button_; }
  [[nodiscard]] QAction* run_action() const { return run_; }
  [[nodiscard]] QAction* cancel_action() const { return cancel_; }
  [[nodiscard]] QAction* copy_action() const { return copy_; }
  [[nodiscard]] QAction* export_action() const { return export_; }
  [[nodiscard]] QComboBox* device_picker() const { return device_; }

 Q_SIGNALS:
  void cancel_requested(const QString& uuid);
  void device_chosen(const QString& kind);

 private:
  QPushButton* add_button(QAction* action, const char* name);
  void copy_table(report::TableFormat format);
  void add_picker(const QString& caption, QComboBox* picker);
  void show_offers();

  Page* page_ = nullptr;
  QString refused_, live_;
  report::TableFormat format_ = report::TableFormat::text;  // of the last table copied
  QAction *run_, *cancel_, *copy_, *export_;
  QAction* baseline_place_ = nullptr;  // visible if the page has baselines
  QAction* cancel_place_ = nullptr;    // of its button; visible while a run can be cancelled
  QPushButton* run_button_;
  QComboBox *device_, *baseline_;
};

/// One sentence, shown next to what it concerns: an error and its remedy, or a completed action. At
/// the bottom of a page, the report of an action overlays the page, lets clicks through and
/// disappears after a time or on a click; a message that has a button or stays has its own space
/// and covers nothing.
class MessageBar : public QFrame {
  Q_OBJECT
 public:
  /// `page`: the page whose bottom edge it overlays; null: it is in a layout.
  explicit MessageBar(QWidget* page = nullptr);

  /// `fix`: text of the button that fixes the error; empty: none.
  void show_error(const QString& sentence, const QString& fix = {});
  void show_info(const QString& sentence);
  /// A completed action, with a button that continues or undoes it.
  void show_offer(const QString& sentence, const QString& button, const QKeySequence& shortcut,
                  std::function<void()> act);
  void clear();
  [[nodiscard]] QString text() const;
  /// The message, if it is an error.
  [[nodiscard]] QString error() const;
  [[nodiscard]] QPushButton* fix_button() const { return fix_; }

 Q_SIGNALS:
  void fix_requested();
  void error_shown();

 protected:
  void changeEvent(QEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void show_sentence(const QString& sentence, const QString& fix, bool error);
  void paint_ground();
  void place_at_bottom();
  /// Places the button next to the sentence, or below it where the sentence would become too
  /// narrow.
  void arrange(int width);
  [[nodiscard]] bool stays() const;

  QWidget* page_;  // null if in a layout
  QBoxLayout* sentence_ = nullptr;
  QLabel* label_;
  QPushButton* fix_;
  QToolButton* close_;
  QTimer hide_timer_;
  bool is_error_ = false;
  std::function<void()> offered_;  // the button's action; replaces fix_requested()
};

}  // namespace attnscope::gui
