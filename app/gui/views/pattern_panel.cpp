// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_panel.h"

#include <QAction>
#include <QCheckBox>
#include <QComboBox>
#include <QFormLayout>
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
#include <algorithm>
#include <limits>

#include "app/gui/charts/mask_problem.h"
#include "app/gui/models/number_list.h"
#include "app/gui/session/opened_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/flow_layout.h"
#include "app/gui/views/pattern_matrix.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr std::size_t most_listed = 1000;  // sentence starts that a list begins with

/// The windows that the slider stops at: fine where windows are small, then doubling, then all.
constexpr int slider_windows[] = {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
constexpr int infinite_stop = std::size(slider_windows);

/// The stop at or before the window.
int stop_of(Window window) {
  if (window.is_infinite()) return infinite_stop;
  const auto* const next = std::ranges::upper_bound(slider_windows, window.tokens());
  return static_cast<int>(next - std::begin(slider_windows)) - 1;
}

QToolButton* text_button(const QString& text, const QString& tip, const char* name) {
  auto* button = new QToolButton;
  button->setText(text);
  button->setToolTip(tip);
  button->setObjectName(QLatin1String(name));
  button->setFocusPolicy(Qt::TabFocus);
  button->setPopupMode(QToolButton::MenuButtonPopup);
  return button;
}

QFormLayout* add_form(QVBoxLayout* layout) {
  auto* form = new QFormLayout;
  form->setRowWrapPolicy(QFormLayout::WrapLongRows);
  layout->addLayout(form);
  return form;
}

}  // namespace

PatternPanel::PatternPanel(PatternEditor& editor, QWidget* parent)
    : QWidget(parent),
      editor_(editor),
      list_(new QListView),
      list_problem_(new ProblemLabel(this, "open_problem")),
      matrix_problem_(new ProblemLabel(this, "matrix_problem")),
      save_(text_button(tr("&Save"), tr("Save the pattern (Ctrl+S)"), "save_pattern")),
      matrix_(new PatternMatrix(editor)),
      window_slider_(new QSlider(Qt::Horizontal)),
      window_box_(new WindowBox),
      sentences_(picker(QStringLiteral("sentences"), tr("Sentence starts"),
                        tr("Where the documents' global tokens lie: those that see and are seen "
                           "from afar"))),
      has_blocks_(new QCheckBox(tr("Bloc&ks, some of them random"))) {
  auto* edits = new QVBoxLayout(this);
  edits->setContentsMargins(0, 0, space::gap, 0);
  edits->addWidget(build_list());
  QLabel* whom = heading(tr("Who sees &whom"), matrix_);
  explain(whom, tr("Which token group, a row, attends to which, a column: [CLS], query, document, "
                   "or the documents' sentence starts"));
  edits->addWidget(whom);
  edits->addWidget(matrix_);
  edits->addWidget(matrix_problem_);
  build_window(edits);
  build_lengths(edits);
  build_sentences(edits);
  build_heads(edits);
  build_own(edits);
  edits->addStretch(1);

  connect(&editor_, &PatternEditor::changed, this, &PatternPanel::refresh);
  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& chosen) { editor_.choose(chosen.row()); });
  connect(matrix_, &PatternMatrix::refused, matrix_problem_, &ProblemLabel::set_problem);
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
  auto* recent = new QMenu(open);
  open->setMenu(recent);
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fill_recent(recent); });
  connect(open, &QToolButton::clicked, this, &PatternPanel::open_asked);
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
  for (const QString& file : recent_files(FileKind::pattern)) {
    menu->addAction(file, this, [this, file] { Q_EMIT file_asked(file); });
  }
  if (menu->isEmpty()) menu->addAction(tr("No pattern opened yet"))->setEnabled(false);
}

QSpinBox* PatternPanel::add_number(QFormLayout* form, const QString& title, const QString& tip,
                                   const char* name, std::pair<int, int> range,
                                   const std::function<void(int)>& enter,
                                   std::function<std::optional<std::int64_t>()> value) {
  QSpinBox* box = number_box(range.first, range.second, tip, name);
  add_row(form, title, box, tip);
  connect(box, &QSpinBox::valueChanged, this, enter);
  connect(box, &QSpinBox::editingFinished, this, [this] { editor_.end_gesture(); });
  shown_.emplace_back([box, value = std::move(value)] {
    if (const auto shown = value ? value() : std::nullopt) set_quietly(box, *shown);
  });
  return box;
}

QLineEdit* PatternPanel::add_text(QFormLayout* form, const QString& title, const QString& tip,
                                  const char* name, const std::function<QString()>& value,
                                  const std::function<Status(const QString&)>& enter,
                                  ProblemLabel* problem, const std::function<QString()>& wrong) {
  auto* edit = new QLineEdit;
  edit->setObjectName(QLatin1String(name));
  add_row(form, title, edit, tip);
  shown_.emplace_back([=] {
    if (edit->hasFocus() && edit->isModified()) return;  // somebody is typing
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
    if (!done) return problem->set_problem(words(done.error().message));
    edit->setModified(false);
    refresh();
  });
  return edit;
}

void PatternPanel::build_window(QVBoxLayout* layout) {
  const QString tip = tr("w: how many tokens a token sees to each side, under rules that say w");
  window_slider_->setRange(0, infinite_stop);
  window_slider_->setPageStep(1);
  window_slider_->setTickPosition(QSlider::TicksBelow);
  window_slider_->setTickInterval(1);
  window_slider_->setObjectName(QStringLiteral("window_slider"));
  window_slider_->setAccessibleName(tr("Window"));
  window_slider_->setToolTip(tr("%1, in steps").arg(tip));
  window_box_->setObjectName(QStringLiteral("window_box"));
  window_box_->setAccessibleName(tr("Window in tokens, or inf"));
  window_box_->setToolTip(tr("%1: any number, or inf").arg(tip));
  auto* line = new QHBoxLayout;
  QLabel* title = heading(tr("W&indow w"), window_box_);
  explain(title, tip);
  line->addWidget(title, 1);
  line->addWidget(window_box_);
  layout->addLayout(line);
  layout->addWidget(window_slider_);
  connect(window_slider_, &QSlider::valueChanged, this, [this](int stop) {
    editor_.set_window(stop == infinite_stop ? Window::infinite()
                                             : Window::of(slider_windows[stop]));
  });
  connect(window_slider_, &QSlider::sliderReleased, this, [this] { editor_.end_gesture(); });
  connect(window_box_, &QSpinBox::valueChanged, this,
          [this] { editor_.set_window(window_box_->window()); });
  connect(window_box_, &QSpinBox::editingFinished, this, [this] { editor_.end_gesture(); });
}

void PatternPanel::build_lengths(QVBoxLayout* layout) {
  QFormLayout* form = add_form(layout);
  const auto alike = [this](int) { set_alike_documents(); };
  add_number(
      form, tr("&Query tokens"), tr("Query tokens with their [SEP]"), "query_tokens",
      {0, most_tokens}, [this](int tokens) { editor_.set_query(tokens); },
      [this] { return editor_.item().query; });
  document_ = add_number(form, tr("&Document tokens"), tr("Tokens of each document with its [SEP]"),
                         "document_tokens", {0, most_tokens}, alike,
                         [this]() -> std::optional<std::int64_t> {
                           if (!documents_are_alike()) return std::nullopt;
                           return editor_.item().documents[0];
                         });
  count_ = add_number(form, tr("Docume&nts"), tr("Documents beside one query: more are list-wise"),
                      "document_count", {1, most_documents}, alike,
                      [this] { return std::ssize(editor_.item().documents); });
  auto* problem = new ProblemLabel(this, "documents_problem");
  const auto shown = [this] {
    return documents_are_alike() ? QString() : lengths_text(editor_.item().documents);
  };
  const auto enter = [this](const QString& text) -> Status {
    if (text.isEmpty()) {
      set_alike_documents();
      return {};
    }
    const auto lengths = parse_lengths(text);
    if (!lengths) return tl::unexpected(lengths.error());
    editor_.set_documents(*lengths);
    return {};
  };
  add_text(form, tr("&Lengths"), tr("Documents of unlike lengths, as in 300, 200, 4x100 (Enter)"),
           "document_lengths", shown, enter, problem, [this] { return wrong_documents(); })
      ->setPlaceholderText(tr("all alike"));
  layout->addWidget(problem);  // a form leaves no room for a sentence that wraps
}

void PatternPanel::build_sentences(QVBoxLayout* layout) {
  QFormLayout* form = add_form(layout);
  sentences_->addItems({tr("none"), tr("every"), tr("listed")});
  add_row(form, tr("Sentence s&tarts"), sentences_, sentences_->toolTip());
  stride_ = add_number(
      form, {}, tr("Every so many document tokens a sentence starts"), "sentence_stride",
      {1, most_tokens}, [this](int tokens) { editor_.set_sentences_every(tokens); },
      [this] { return editor_.pattern().sentence_every; });
  stride_->setSuffix(tr(" tokens"));
  auto* problem = new ProblemLabel(this, "sentences_problem");
  const auto enter = [this](const QString& text) -> Status {
    const auto starts = parse_offsets(text);
    if (!starts) return tl::unexpected(starts.error());
    editor_.set_sentences(*starts);
    return {};
  };
  starts_ = add_text(
      form, {}, tr("Offsets into the documents, ascending, as in 0, 30, 60 (Enter)"),
      "sentence_starts", [this] { return offsets_text(editor_.item().sentences); }, enter, problem,
      [this] { return wrong_starts(); });
  layout->addWidget(problem);
  shown_.emplace_back([this, form] {
    const bool take_part = editor_.pattern().has_sentences();
    const PatternEditor::Sentences mode = editor_.sentences();
    sentences_->setCurrentIndex(static_cast<int>(mode));
    form->setRowVisible(sentences_, take_part);
    form->setRowVisible(stride_, take_part && mode == PatternEditor::Sentences::every);
    form->setRowVisible(starts_, take_part && mode == PatternEditor::Sentences::listed);
  });
  connect(sentences_, &QComboBox::activated, this, &PatternPanel::sentences_chosen);
}

void PatternPanel::build_heads(QVBoxLayout* layout) {
  QFormLayout* form = add_form(layout);
  const auto enter = [this](int) { Q_EMIT heads_changed(); };
  heads_ = add_number(form, tr("Heads"), tr("Attention heads that the costs are counted for"),
                      "heads", {1, 512}, enter);
  head_dim_ = add_number(form, tr("Head dimension"),
                         tr("Values of a token's query, key and value in one head"), "head_dim",
                         {1, 1024}, enter);
  heads_->setValue(12);
  head_dim_->setValue(32);
}

void PatternPanel::build_own(QVBoxLayout* layout) {
  has_blocks_->setObjectName(QStringLiteral("has_blocks"));
  has_blocks_->setToolTip(
      tr("BigBird: outer blocks see all, others themselves, their neighbours and random ones"));
  layout->addWidget(has_blocks_);
  connect(has_blocks_, &QCheckBox::clicked, this, [this](bool on) {
    editor_.end_gesture();
    (void)editor_.set_blocks(on ? std::optional(BlockRule{}) : std::nullopt);
    editor_.end_gesture();
  });
  QFormLayout* blocks = add_form(layout);
  const auto add_block = [&](const QString& title, const QString& tip, const char* name,
                             std::pair<int, int> range, std::int64_t BlockRule::*part) {
    return add_number(
        blocks, title, tip, name, range, [this](int) { set_blocks(); },
        [this, part]() -> std::optional<std::int64_t> {
          const auto& rule = editor_.pattern().blocks;
          return rule ? std::optional((*rule).*part) : std::nullopt;
        });
  };
  block_length_ = add_block(tr("Block len&gth"), tr("Tokens of a block"), "block_length",
                            {1, most_tokens}, &BlockRule::length);
  block_random_ =
      add_block(tr("Rando&m blocks"),
                tr("Blocks anywhere in the sequence that a block sees, drawn for each head"),
                "block_random", {0, static_cast<int>(BlockRule::most_random)}, &BlockRule::random);
  block_seed_ = add_block(tr("Seed"), tr("Seed of the draw: the same gives the same blocks"),
                          "block_seed", {0, std::numeric_limits<int>::max()}, &BlockRule::seed);
  shown_.emplace_back([this, blocks] {
    const bool has_blocks = editor_.pattern().blocks.has_value();
    has_blocks_->setChecked(has_blocks);
    for (QWidget* box : {block_length_, block_random_, block_seed_}) {
      blocks->setRowVisible(box, has_blocks);
    }
  });

  auto* problem = new ProblemLabel(this, "name_problem");
  add_text(
      add_form(layout), tr("N&ame"), tr("As contenders write it: letters, digits, - and _ (Enter)"),
      "pattern_name", [this] { return words(editor_.pattern().name); },
      [this](const QString& text) { return editor_.set_name(text.toStdString()); }, problem)
      ->setMaxLength(100);
  layout->addWidget(problem);
  QFormLayout* form = add_form(layout);
  add_text(
      form, tr("Title"), tr("As figures show it (Enter)"), "pattern_title",
      [this] { return words(editor_.pattern().title); },
      [this](const QString& text) { return editor_.set_title(text.toStdString()); });
  add_text(
      form, tr("Des&cription"), tr("One sentence, with its source (Enter)"), "pattern_description",
      [this] { return words(editor_.pattern().description); },
      [this](const QString& text) { return editor_.set_description(text.toStdString()); });
}

int PatternPanel::heads() const {
  return heads_->value();
}

int PatternPanel::head_dim() const {
  return head_dim_->value();
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
  for (QSpinBox* box : {document_, count_}) box->setEnabled(documents_are_alike());
  for (const auto& show : shown_) show();
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

bool PatternPanel::documents_are_alike() const {
  const std::vector<std::int64_t>& lengths = editor_.item().documents;
  return !lengths.empty() && std::ranges::count(lengths, lengths[0]) == std::ssize(lengths);
}

void PatternPanel::set_alike_documents() {
  editor_.set_documents(
      std::vector<std::int64_t>(static_cast<std::size_t>(count_->value()), document_->value()));
}

QString PatternPanel::wrong_documents() const {
  const LayoutItem& item = editor_.item();
  std::int64_t tokens = item.cls + item.query;
  for (const std::int64_t length : item.documents) tokens += length;
  if (tokens > charts::MaskProblem::largest) {
    return tr("A mask shows at most 1,000,000 tokens, and these are %L1.").arg(tokens);
  }
  const Result<SequenceLayout> layout = SequenceLayout::make({item});
  return layout || !wrong_starts().isEmpty() ? QString() : words(layout.error().message);
}

QString PatternPanel::wrong_starts() const {
  if (!editor_.item().sentences_given || !editor_.pattern().has_sentences()) return {};
  const Result<SequenceLayout> layout = SequenceLayout::make({editor_.item()});
  return layout ? QString() : words(layout.error().message);
}

std::vector<std::int64_t> PatternPanel::starts_by_stride() const {
  std::vector<std::int64_t> starts;
  std::int64_t begin = 0;
  for (const std::int64_t length : editor_.item().documents) {
    for (std::int64_t at = 0; at < length && starts.size() < most_listed; at += stride_->value()) {
      starts.push_back(begin + at);
    }
    begin += length;
  }
  return starts;
}

void PatternPanel::sentences_chosen() {
  editor_.end_gesture();
  starts_->setModified(false);
  switch (static_cast<PatternEditor::Sentences>(sentences_->currentIndex())) {
    case PatternEditor::Sentences::none:
      return editor_.set_sentences({});
    case PatternEditor::Sentences::every:
      return editor_.set_sentences_every(stride_->value());
    case PatternEditor::Sentences::listed:
      editor_.set_sentences(starts_by_stride());
  }
  refresh();  // without any token there is no start, and the choice is "none" again
}

void PatternPanel::set_blocks() {
  (void)editor_.set_blocks(BlockRule{.length = block_length_->value(),
                                     .random = block_random_->value(),
                                     .seed = block_seed_->value()});
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
