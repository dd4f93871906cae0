// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_panel.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QEvent>
#include <QFormLayout>
#include <QItemSelectionModel>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QSlider>
#include <QSpinBox>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "app/drawing/mask_problem.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/pattern_matrix.h"
#include "app/gui/views/theme.h"
#include "views/ui_pattern_panel.h"

namespace attnscope::gui {
namespace {

constexpr std::size_t most_listed = 1000;  // sentence starts in an initial list

/// The windows of the slider's stops: fine for small windows, then doubling, then infinite.
constexpr int slider_windows[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr int infinite_stop = std::size(slider_windows);

/// The stop at or below the window.
int stop_of(Window window) {
  if (window.is_infinite()) return infinite_stop;
  const auto* const next = std::ranges::upper_bound(slider_windows, window.tokens());
  return static_cast<int>(next - std::begin(slider_windows)) - 1;
}

}  // namespace

PatternPanel::PatternPanel(PatternEditor& editor, QWidget* parent)
    : QWidget(parent), editor_(editor), ui_(std::make_unique<Ui::PatternPanel>()) {
  ui_->setupUi(this);
  ui_->edits->setContentsMargins(0, 0, space::gap, 0);
  ui_->pattern_matrix->set_editor(editor_);
  explain_fields(*this);
  for (QWidget* field :
       std::initializer_list<QWidget*>{ui_->sentence_stride, ui_->sentence_starts}) {
    explain(field, field->toolTip());
    field->setAccessibleName(field->toolTip());
  }
  QListView* list = ui_->patterns;
  list->setModel(&editor_.patterns());
  list->setSpacing(1);
  // As high as its rows: inside a scrolling panel, a scrolling list would capture the wheel.
  const auto show_all = [list] {
    list->setFixedHeight(list->model()->rowCount() * (list->fontMetrics().height() + 3));
  };
  connect(list->model(), &QAbstractItemModel::rowsInserted, this, show_all);
  connect(list->model(), &QAbstractItemModel::rowsRemoved, this, show_all);
  show_all();
  connect(list->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& chosen) { editor_.choose(chosen.row()); });
  auto* recent = new QMenu(ui_->open_pattern);
  ui_->open_pattern->setMenu(recent);
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fill_recent(recent); });
  connect(ui_->open_pattern, &QToolButton::clicked, this, &PatternPanel::open_requested);
  auto* more = new QMenu(ui_->save_pattern);
  more->addAction(tr("Save &as…\tCtrl+Shift+S"), this, &PatternPanel::save_as_requested);
  ui_->save_pattern->setMenu(more);
  connect(ui_->save_pattern, &QToolButton::clicked, this, &PatternPanel::save_requested);
  ui_->undo->setDefaultAction(undo_action(tr("Undo"), QKeySequence(tr("Ctrl+Z")), true));
  ui_->redo->setDefaultAction(undo_action(tr("Redo"), QKeySequence(tr("Ctrl+Shift+Z")), false));
  new FlowLayout(ui_->buttons);
  ui_->window_slider->setMaximum(infinite_stop);
  connect(ui_->window_slider, &QSlider::valueChanged, this, [this](int stop) {
    editor_.set_window(stop == infinite_stop ? Window::infinite()
                                             : Window::of(slider_windows[stop]));
  });
  connect(ui_->window_slider, &QSlider::sliderReleased, this, [this] { editor_.end_gesture(); });
  connect(ui_->window_box, &QSpinBox::valueChanged, this,
          [this] { editor_.set_window(ui_->window_box->window()); });
  connect(ui_->window_box, &QSpinBox::editingFinished, this, [this] { editor_.end_gesture(); });
  bind_lengths();
  bind_sentences();
  bind_blocks();
  bind_texts();
  for (QSpinBox* box : {ui_->heads, ui_->head_dim})
    connect(box, &QSpinBox::valueChanged, this, &PatternPanel::heads_changed);
  connect(&editor_, &PatternEditor::changed, this, &PatternPanel::refresh);
  connect(ui_->pattern_matrix, &PatternMatrix::refused, ui_->matrix_problem,
          &ProblemLabel::set_problem);
  for (QLineEdit* edit : findChildren<QLineEdit*>()) edit->installEventFilter(this);
  refresh();
  wrap_rows();
}

PatternPanel::~PatternPanel() = default;

// Puts large labels above their fields. WrapLongRows is not used: with it, Qt 6.4 gives rows no
// height after other rows have been hidden and shown.
void PatternPanel::wrap_rows() {
  QFormLayout& form = *ui_->form;
  int labels = 0, fields = 0;
  for (int row = 0; row < form.rowCount(); ++row) {
    const QLayoutItem* label = form.itemAt(row, QFormLayout::LabelRole);
    const QLayoutItem* field = form.itemAt(row, QFormLayout::FieldRole);
    if (label) labels = std::max(labels, label->sizeHint().width());
    if (field) fields = std::max(fields, field->minimumSize().width());
  }
  const int room = SideArea::widest - style()->pixelMetric(QStyle::PM_ScrollBarExtent);
  const bool is_wide = labels + fields + 3 * space::gap > room;
  form.setRowWrapPolicy(is_wide ? QFormLayout::WrapAllRows : QFormLayout::DontWrapRows);
}

void PatternPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) wrap_rows();
}

QAction* PatternPanel::undo_action(const QString& name, const QKeySequence& keys, bool undo) {
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
  return action;
}

void PatternPanel::fill_recent(QMenu* menu) {
  menu->clear();
  for (const QString& file : recent_files(FileKind::pattern)) {
    menu->addAction(file, this, [this, file] { Q_EMIT file_requested(file); });
  }
  if (menu->isEmpty()) menu->addAction(tr("No recent patterns"))->setEnabled(false);
}

void PatternPanel::bind(QSpinBox* box, int most, const std::function<void(int)>& enter,
                        std::function<std::optional<std::int64_t>()> value) {
  box->setMaximum(most);
  connect(box, &QSpinBox::valueChanged, this, enter);
  connect(box, &QSpinBox::editingFinished, this, [this] { editor_.end_gesture(); });
  shown_.emplace_back([box, value = std::move(value)] {
    if (const auto shown = value()) set_quietly(box, *shown);
  });
}

void PatternPanel::bind(QLineEdit* edit, const std::function<QString()>& value,
                        const std::function<Status(const QString&)>& enter, ProblemLabel* problem,
                        const std::function<QString()>& wrong) {
  shown_.emplace_back([=] {
    if (edit->hasFocus() && edit->isModified()) return;  // the user is typing
    if (const QString text = value(); edit->text() != text) {
      edit->setText(text);
      edit->setCursorPosition(0);
    }
    if (problem && !edit->isModified()) problem->set_problem(wrong ? wrong() : QString());
  });
  connect(edit, &QLineEdit::editingFinished, this, [=, this] {
    if (!edit->isModified()) return;
    editor_.end_gesture();
    const Status done = enter(edit->text().trimmed());
    if (!done) return problem->set_problem(qstring(done.error().message));
    edit->setModified(false);
    refresh();
  });
}

void PatternPanel::bind_lengths() {
  const auto equal_lengths = [this](int) { set_equal_documents(); };
  bind(
      ui_->query_tokens, most_tokens, [this](int tokens) { editor_.set_query(tokens); },
      [this] { return editor_.item().query; });
  bind(ui_->document_tokens, most_tokens, equal_lengths, [this]() -> std::optional<std::int64_t> {
    if (!documents_are_equal()) return std::nullopt;
    return editor_.item().documents[0];
  });
  bind(ui_->document_count, most_documents, equal_lengths,
       [this] { return std::ssize(editor_.item().documents); });
  const auto shown = [this] {
    return documents_are_equal() ? QString() : lengths_text(editor_.item().documents);
  };
  const auto enter = [this](const QString& text) -> Status {
    if (text.isEmpty()) {
      set_equal_documents();
      return {};
    }
    const auto lengths = parse_lengths(text);
    if (!lengths) return tl::unexpected(lengths.error());
    editor_.set_documents(*lengths);
    return {};
  };
  bind(ui_->document_lengths, shown, enter, ui_->documents_problem,
       [this] { return wrong_documents(); });
}

void PatternPanel::bind_sentences() {
  bind(
      ui_->sentence_stride, most_tokens,
      [this](int tokens) { editor_.set_sentences_every(tokens); },
      [this] { return editor_.pattern().sentence_every; });
  const auto enter = [this](const QString& text) -> Status {
    const auto starts = parse_offsets(text);
    if (!starts) return tl::unexpected(starts.error());
    editor_.set_sentences(*starts);
    return {};
  };
  bind(
      ui_->sentence_starts, [this] { return offsets_text(editor_.item().sentences); }, enter,
      ui_->sentences_problem, [this] { return wrong_starts(); });
  shown_.emplace_back([this] {
    const bool take_part = editor_.pattern().has_sentences();
    const PatternEditor::Sentences mode = editor_.sentences();
    ui_->sentences->setCurrentIndex(static_cast<int>(mode));
    QFormLayout& form = *ui_->form;
    form.setRowVisible(ui_->sentences, take_part);
    form.setRowVisible(ui_->sentence_stride, take_part && mode == PatternEditor::Sentences::every);
    form.setRowVisible(ui_->sentence_starts, take_part && mode == PatternEditor::Sentences::listed);
  });
  connect(ui_->sentences, &QComboBox::activated, this, &PatternPanel::sentences_chosen);
}

void PatternPanel::bind_blocks() {
  connect(ui_->has_blocks, &QCheckBox::clicked, this, [this](bool on) {
    editor_.end_gesture();
    (void)editor_.set_blocks(on ? std::optional(BlockRule{}) : std::nullopt);
    editor_.end_gesture();
  });
  const auto bind_part = [this](QSpinBox* box, int most, std::int64_t BlockRule::*part) {
    bind(
        box, most, [this](int) { set_blocks(); },
        [this, part]() -> std::optional<std::int64_t> {
          const auto& rule = editor_.pattern().blocks;
          return rule ? std::optional((*rule).*part) : std::nullopt;
        });
  };
  bind_part(ui_->block_length, most_tokens, &BlockRule::length);
  bind_part(ui_->block_random, static_cast<int>(BlockRule::most_random), &BlockRule::random);
  bind_part(ui_->block_seed, std::numeric_limits<int>::max(), &BlockRule::seed);
  shown_.emplace_back([this] {
    const bool has_blocks = editor_.pattern().blocks.has_value();
    ui_->has_blocks->setChecked(has_blocks);
    for (QWidget* box : {ui_->block_length, ui_->block_random, ui_->block_seed})
      ui_->form->setRowVisible(box, has_blocks);
  });
}

void PatternPanel::bind_texts() {
  bind(
      ui_->pattern_name, [this] { return qstring(editor_.pattern().name); },
      [this](const QString& text) { return editor_.set_name(text.toStdString()); },
      ui_->name_problem);
  bind(
      ui_->pattern_title, [this] { return qstring(editor_.pattern().title); },
      [this](const QString& text) { return editor_.set_title(text.toStdString()); });
  bind(
      ui_->pattern_description, [this] { return qstring(editor_.pattern().description); },
      [this](const QString& text) { return editor_.set_description(text.toStdString()); });
}

int PatternPanel::heads() const {
  return ui_->heads->value();
}

int PatternPanel::head_dim() const {
  return ui_->head_dim->value();
}

void PatternPanel::show_problem(const QString& sentence) {
  ui_->open_problem->set_problem(sentence);
}

void PatternPanel::refresh() {
  const QModelIndex chosen = editor_.patterns().index(editor_.row());
  if (ui_->patterns->currentIndex() != chosen) {
    ui_->patterns->selectionModel()->setCurrentIndex(chosen, QItemSelectionModel::ClearAndSelect);
    ui_->patterns->scrollTo(chosen);
    ui_->matrix_problem->set_problem({});
  }
  ui_->save_pattern->setEnabled(editor_.entry().is_modified());
  if (editor_.pattern().blocks) ui_->matrix_problem->set_problem({});
  const bool takes_one = editor_.window().has_value();
  ui_->window_slider->setEnabled(takes_one);
  ui_->window_box->setEnabled(takes_one);
  const QSignalBlocker quiet_slider(ui_->window_slider);
  const QSignalBlocker quiet_box(ui_->window_box);
  ui_->window_slider->setValue(stop_of(editor_.chosen_window()));
  if (!(ui_->window_box->window() == editor_.chosen_window())) {
    ui_->window_box->set_window(editor_.chosen_window());
  }
  for (QSpinBox* box : {ui_->document_tokens, ui_->document_count})
    box->setEnabled(documents_are_equal());
  for (const auto& show : shown_) show();
}

bool PatternPanel::documents_are_equal() const {
  const std::vector<std::int64_t>& lengths = editor_.item().documents;
  return !lengths.empty() && std::ranges::count(lengths, lengths[0]) == std::ssize(lengths);
}

void PatternPanel::set_equal_documents() {
  editor_.set_documents(std::vector<std::int64_t>(
      static_cast<std::size_t>(ui_->document_count->value()), ui_->document_tokens->value()));
}

QString PatternPanel::wrong_documents() const {
  const LayoutItem& item = editor_.item();
  std::int64_t tokens = item.cls + item.query;
  for (const std::int64_t length : item.documents) tokens += length;
  if (tokens > charts::MaskProblem::largest) {
    return tr("A mask shows at most 1,000,000 tokens, and this item has %L1.").arg(tokens);
  }
  const Result<SequenceLayout> layout = SequenceLayout::make({item});
  return layout || !wrong_starts().isEmpty() ? QString() : qstring(layout.error().message);
}

QString PatternPanel::wrong_starts() const {
  if (!editor_.item().sentences_given || !editor_.pattern().has_sentences()) return {};
  const Result<SequenceLayout> layout = SequenceLayout::make({editor_.item()});
  return layout ? QString() : qstring(layout.error().message);
}

std::vector<std::int64_t> PatternPanel::starts_by_stride() const {
  std::vector<std::int64_t> starts;
  std::int64_t begin = 0;
  for (const std::int64_t length : editor_.item().documents) {
    for (std::int64_t at = 0; at < length && starts.size() < most_listed;
         at += ui_->sentence_stride->value()) {
      starts.push_back(begin + at);
    }
    begin += length;
  }
  return starts;
}

void PatternPanel::sentences_chosen() {
  editor_.end_gesture();
  ui_->sentence_starts->setModified(false);
  switch (static_cast<PatternEditor::Sentences>(ui_->sentences->currentIndex())) {
    case PatternEditor::Sentences::none:
      return editor_.set_sentences({});
    case PatternEditor::Sentences::every:
      return editor_.set_sentences_every(ui_->sentence_stride->value());
    case PatternEditor::Sentences::listed:
      editor_.set_sentences(starts_by_stride());
  }
  refresh();  // without tokens there is no start, and the choice is "none" again
}

void PatternPanel::set_blocks() {
  (void)editor_.set_blocks(BlockRule{.length = ui_->block_length->value(),
                                     .random = ui_->block_random->value(),
                                     .seed = ui_->block_seed->value()});
}

// Text fields handle Ctrl+Z only while text is being typed; an entered value is an edit of the
// page, which the page undoes.
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
