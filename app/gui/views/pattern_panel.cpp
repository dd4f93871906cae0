// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_panel.h"

#include <QAction>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/session/file_kind.h"
#include "app/gui/session/recent_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/pattern_item_box.h"
#include "app/gui/views/pattern_matrix.h"
#include "app/gui/views/pattern_own_box.h"
#include "app/gui/views/problem_label.h"
#include "app/gui/views/side_area.h"
#include "app/gui/views/theme.h"
#include "app/gui/views/window_box.h"

namespace attnscope::gui {
namespace {

QToolButton* text_button(const QString& text, const QString& tip, const char* name) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(tip);
  button->setObjectName(QLatin1String(name));
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

/// The stop at or before the window.
int stop_of(Window window) {
  const std::vector<Window>& stops = slider_windows();
  const auto last = static_cast<int>(stops.size()) - 1;
  if (window.is_infinite()) return last;
  int stop = 0;
  while (stop + 1 < last && stops[static_cast<std::size_t>(stop) + 1].tokens() <= window.tokens()) {
    ++stop;
  }
  return stop;
}

}  // namespace

const std::vector<Window>& slider_windows() {
  static const std::vector<Window> all = [] {
    std::vector<Window> windows;
    for (const int width : {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64})
      windows.push_back(Window::of(width));
    windows.push_back(Window::infinite());
    return windows;
  }();
  return all;
}

PatternPanel::PatternPanel(PatternEditor& editor, QWidget* parent)
    : QWidget(parent),
      editor_(editor),
      matrix_model_(editor),
      list_(new QListView),
      list_problem_(new ProblemLabel("open_problem")),
      save_(text_button(tr("&Save"), tr("Save the pattern (Ctrl+S)"), "save_pattern")),
      matrix_(new PatternMatrix(&matrix_model_)),
      matrix_problem_(new ProblemLabel("matrix_problem")),
      window_slider_(new QSlider(Qt::Horizontal)),
      window_box_(new WindowBox),
      item_box_(new PatternItemBox(editor)) {
  auto* inside = new QWidget;
  auto* inside_layout = new QVBoxLayout(inside);
  inside_layout->setContentsMargins(0, 0, space::gap, 0);
  inside_layout->addWidget(build_list());
  inside_layout->addWidget(build_edits(), 1);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(new SideArea(inside, tr("Pattern")));

  connect(&editor_, &PatternEditor::changed, this, &PatternPanel::refresh);
  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& chosen) { editor_.choose(chosen.row()); });
  connect(&matrix_model_, &PatternMatrixModel::refused, matrix_problem_,
          &ProblemLabel::set_problem);
  for (QLineEdit* edit : findChildren<QLineEdit*>()) edit->installEventFilter(this);
  refresh();
}

QWidget* PatternPanel::build_list() {
  list_->setModel(&editor_.patterns());
  list_->setObjectName(QStringLiteral("patterns"));
  list_->setAccessibleName(tr("Patterns"));
  list_->setSpacing(1);
  list_->setTextElideMode(Qt::ElideRight);
  constexpr int lines = 7;  // as many as there are patterns that ship
  list_->setFixedHeight(lines * (list_->fontMetrics().height() + 3));
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* open =
      text_button(tr("&Open…"), tr("A pattern of your own, as JSON (Ctrl+O)"), "open_pattern");
  open->setPopupMode(QToolButton::MenuButtonPopup);
  auto* recent = new QMenu(open);
  open->setMenu(recent);
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fill_recent(recent); });
  connect(open, &QToolButton::clicked, this, &PatternPanel::open_asked);
  save_->setPopupMode(QToolButton::MenuButtonPopup);
  auto* more = new QMenu(save_);
  more->addAction(tr("Save &as…\tCtrl+Shift+S"), this, &PatternPanel::save_as_asked);
  save_->setMenu(more);
  connect(save_, &QToolButton::clicked, this, &PatternPanel::save_asked);

  auto* buttons = new FlowLayout;
  buttons->addWidget(open);
  buttons->addWidget(save_);
  buttons->addWidget(add_undo(tr("Undo"), QKeySequence(tr("Ctrl+Z")), true));
  buttons->addWidget(add_undo(tr("Redo"), QKeySequence(tr("Ctrl+Shift+Z")), false));
  auto* box = new QWidget;
  auto* layout = new QVBoxLayout(box);
  layout->addWidget(list_);
  layout->addWidget(list_problem_);
  layout->addLayout(buttons);
  return box;
}

QToolButton* PatternPanel::add_undo(const QString& name, const QKeySequence& keys, bool undo) {
  QUndoStack& stack = editor_.undo_stack();
  QAction* action =
      add_action(this, name, keys, [&stack, undo] { undo ? stack.undo() : stack.redo(); });
  const auto show = [action, name, keys, &stack, undo] {
    action->setEnabled(undo ? stack.canUndo() : stack.canRedo());
    const QString what = undo ? stack.undoText() : stack.redoText();
    action->setToolTip(what.isEmpty()
                           ? QStringLiteral("%1 (%2)").arg(name, keys.toString())
                           : QStringLiteral("%1: %2 (%3)").arg(name, what, keys.toString()));
  };
  connect(&stack, &QUndoStack::indexChanged, action, show);
  show();
  auto* button = new QToolButton;
  button->setDefaultAction(action);
  button->setObjectName(undo ? QStringLiteral("undo") : QStringLiteral("redo"));
  button->setFocusPolicy(Qt::TabFocus);
  return button;
}

void PatternPanel::fill_recent(QMenu* menu) {
  menu->clear();
  for (const QString& file : recent_files()) {
    const auto kind = kind_of(file.toStdString());
    if (!kind || *kind != FileKind::pattern) continue;
    menu->addAction(file, this, [this, file] { Q_EMIT file_asked(file); });
  }
  if (menu->isEmpty()) menu->addAction(tr("No pattern opened yet"))->setEnabled(false);
}

QWidget* PatternPanel::build_edits() {
  auto* box = new QWidget;
  auto* layout = new QVBoxLayout(box);
  layout->addWidget(heading(tr("Who sees &whom"), matrix_));
  layout->addWidget(matrix_);
  layout->addWidget(matrix_problem_);
  layout->addWidget(build_window());
  layout->addWidget(item_box_);
  layout->addWidget(new PatternOwnBox(editor_));
  layout->addStretch();
  return box;
}

QWidget* PatternPanel::build_window() {
  window_slider_->setRange(0, static_cast<int>(slider_windows().size()) - 1);
  window_slider_->setPageStep(1);
  window_slider_->setTickPosition(QSlider::TicksBelow);
  window_slider_->setTickInterval(1);
  window_slider_->setObjectName(QStringLiteral("window_slider"));
  window_slider_->setAccessibleName(tr("Window"));
  window_slider_->setToolTip(tr("Tokens seen to each side, in steps"));
  window_box_->setObjectName(QStringLiteral("window_box"));
  window_box_->setAccessibleName(tr("Window in tokens, or inf"));
  window_box_->setToolTip(tr("Tokens seen to each side: any number, or inf"));
  auto* box = new QWidget;
  auto* layout = new QVBoxLayout(box);
  auto* line = new QHBoxLayout;
  line->addWidget(heading(tr("W&indow"), window_box_), 1);
  line->addWidget(window_box_);
  layout->addLayout(line);
  layout->addWidget(window_slider_);
  connect(window_slider_, &QSlider::valueChanged, this, [this](int stop) {
    editor_.set_window(slider_windows()[static_cast<std::size_t>(stop)]);
  });
  connect(window_slider_, &QSlider::sliderReleased, this, [this] { editor_.end_gesture(); });
  connect(window_box_, &QSpinBox::valueChanged, this,
          [this] { editor_.set_window(window_box_->window()); });
  connect(window_box_, &QSpinBox::editingFinished, this, [this] { editor_.end_gesture(); });
  return box;
}

void PatternPanel::show_problem(const QString& sentence) {
  list_problem_->set_problem(sentence);
}

void PatternPanel::refresh() {
  const QModelIndex chosen = editor_.patterns().index(editor_.row());
  if (list_->currentIndex() != chosen) {
    list_->selectionModel()->setCurrentIndex(chosen, QItemSelectionModel::ClearAndSelect);
    list_->scrollTo(chosen);
    matrix_problem_->set_problem({});
  }
  save_->setEnabled(editor_.entry().is_modified());
  if (editor_.pattern().blocks) matrix_problem_->set_problem({});
  refresh_window();
}

void PatternPanel::refresh_window() {
  const bool takes_one = editor_.window().has_value();
  window_slider_->setEnabled(takes_one);
  window_box_->setEnabled(takes_one);
  const QSignalBlocker quiet_slider(window_slider_);
  const QSignalBlocker quiet_box(window_box_);
  window_slider_->setValue(stop_of(editor_.chosen_window()));
  if (!(window_box_->window() == editor_.chosen_window())) {
    window_box_->set_window(editor_.chosen_window());
  }
}

// Text fields keep Ctrl+Z for the text that is being typed, and only then: what was entered is an
// edit of the page, undone by the page.
bool PatternPanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    const auto* edit = qobject_cast<QLineEdit*>(watched);
    const auto* key = static_cast<QKeyEvent*>(event);
    const bool in_box = edit && qobject_cast<QAbstractSpinBox*>(edit->parentWidget());
    const bool typing = edit && edit->isModified() && !in_box;
    if (!typing && (key->matches(QKeySequence::Undo) || key->matches(QKeySequence::Redo))) {
      event->ignore();
      return true;
    }
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace attnscope::gui
