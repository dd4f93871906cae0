// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_source.h"

#include <QComboBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QMenu>
#include <QSettings>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/session/text.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/head_grid_view.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {
namespace {

constexpr int no_limit = -1;
constexpr int first_window = 4;  // the paper's
constexpr int most_recent = 8;
const auto recent_dumps_key = QStringLiteral("attention/recent");

}  // namespace

QStringList recent_dumps() {
  return QSettings().value(recent_dumps_key).toStringList();
}

void remember_dump(const QString& file) {
  QStringList recent = recent_dumps();
  recent.removeAll(file);
  recent.prepend(file);
  QSettings().setValue(recent_dumps_key, QStringList(recent.mid(0, most_recent)));
}

PatternPicker::PatternPicker(PatternListModel* patterns, const QString& no_choice,
                             const QString& name, QWidget* parent)
    : QWidget(parent), patterns_(patterns), box_(new QComboBox), window_(new QSpinBox) {
  box_->setAccessibleName(name);
  box_->setObjectName(QStringLiteral("pattern"));
  box_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box_->setMinimumContentsLength(8);
  box_->addItem(no_choice);
  window_->setAccessibleName(tr("Window of %1").arg(name));
  window_->setObjectName(QStringLiteral("window"));
  window_->setToolTip(tr("Tokens to each side that a token sees, w"));
  window_->setRange(no_limit, static_cast<int>(Dump::most_tokens));
  window_->setSpecialValueText(QStringLiteral("w = ∞"));
  window_->setPrefix(QStringLiteral("w = "));
  window_->setValue(first_window);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(box_);
  layout->addWidget(window_);
  setFocusProxy(box_);
  fill();
  connect(patterns_, &QAbstractItemModel::rowsInserted, this, &PatternPicker::fill);
  connect(box_, &QComboBox::activated, this, &PatternPicker::entry_chosen);
  connect(window_, &QSpinBox::valueChanged, this, &PatternPicker::changed);
}

void PatternPicker::fill() {
  const QSignalBlocker quiet(box_);
  const int current = box_->currentIndex();
  while (box_->count() > 1) box_->removeItem(1);
  for (int row = 0; row < patterns_->rowCount(); ++row) {
    const QModelIndex index = patterns_->index(row);
    box_->addItem(index.data().toString());
    box_->setItemData(row + 1, index.data(Qt::ToolTipRole), Qt::ToolTipRole);
  }
  box_->addItem(tr("From a file…"));
  box_->setCurrentIndex(current);
  window_->setVisible(choice() && choice()->pattern.has_window());
}

std::optional<PatternChoice> PatternPicker::choice() const {
  const int row = box_->currentIndex() - 1;
  if (row < 0 || row >= patterns_->rowCount()) return std::nullopt;
  const AttentionPattern& pattern = patterns_->pattern(row);
  std::optional<Window> window;
  if (pattern.has_window()) {
    window = window_->value() == no_limit ? Window::infinite() : Window::of(window_->value());
  }
  return PatternChoice{pattern, window};
}

QString PatternPicker::title() const {
  return choice() ? box_->currentText() : QString();
}

void PatternPicker::choose(const QString& title) {
  const int at = title.isEmpty() ? 0 : box_->findText(title);
  box_->setCurrentIndex(std::max(0, at));
  entry_chosen();
}

QVariantMap PatternPicker::chosen() const {
  const int row = box_->currentIndex() - 1;
  const bool any = choice().has_value();
  return {{QStringLiteral("title"), title()},
          {QStringLiteral("file"), any ? patterns_->entry(row).file : QString()},
          {QStringLiteral("window"), window_->value()}};
}

void PatternPicker::restore(const QVariantMap& chosen) {
  if (chosen.isEmpty()) return;
  if (const QString file = chosen.value(QStringLiteral("file")).toString(); !file.isEmpty()) {
    (void)patterns_->open_file(file);  // one that is gone is no choice
  }
  const QSignalBlocker quiet(window_);
  window_->setValue(chosen.value(QStringLiteral("window")).toInt());
  choose(chosen.value(QStringLiteral("title")).toString());
}

void PatternPicker::set_no_choice_words(const QString& words) {
  box_->setItemText(0, words);
}

void PatternPicker::entry_chosen() {
  if (box_->currentIndex() == box_->count() - 1) return ask_for_pattern();
  last_ = box_->currentIndex();
  window_->setVisible(choice() && choice()->pattern.has_window());
  Q_EMIT changed();
}

void PatternPicker::ask_for_pattern() {
  box_->setCurrentIndex(last_);
  ask_for_file(this, tr("Open a pattern"), tr("Patterns (*.json)"), [this](const QString& file) {
    const Result<int> row = patterns_->open_file(file);
    if (!row) {
      Q_EMIT file_failed(words(row.error().message));
      return;
    }
    box_->setCurrentIndex(*row + 1);
    entry_chosen();
  });
}

AttentionSource::AttentionSource(AttentionSession* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new QLabel),
      note_(new QLabel),
      open_(new QToolButton),
      checkpoint_(new QToolButton),
      first_(new PatternPicker(&patterns_, tr("As the model ran"), tr("Pattern A"))),
      second_(new PatternPicker(&patterns_, tr("None"), tr("Pattern B"))),
      grid_(new HeadGridView) {
  set_text(model_, TextSize::heading);
  model_->setObjectName(QStringLiteral("dump_model"));
  note_->setObjectName(QStringLiteral("dump_note"));
  for (QLabel* label : {model_, note_}) {
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  open_->setObjectName(QStringLiteral("open_dump"));
  open_->setText(tr("Open dump"));
  open_->setToolTip(tr("Queries and keys that scripts/attnscope_dump.py wrote (Ctrl+O)"));
  open_->setToolButtonStyle(Qt::ToolButtonTextOnly);
  open_->setPopupMode(QToolButton::InstantPopup);
  open_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  open_->setFocusPolicy(Qt::StrongFocus);
  open_->setMenu(new QMenu(open_));
  connect(open_->menu(), &QMenu::aboutToShow, this, &AttentionSource::fill_menu);
  fill_menu();
  checkpoint_->setObjectName(QStringLiteral("open_checkpoint"));
  checkpoint_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  checkpoint_->setFocusPolicy(Qt::StrongFocus);
  first_->box()->setToolTip(tr("The pattern under which the weights are shown"));
  second_->box()->setToolTip(tr("A second pattern: the same scores, normalised over its pairs"));
  second_->setObjectName(QStringLiteral("second"));
  first_->setObjectName(QStringLiteral("first"));

  auto* form = new QFormLayout;
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("&A"), first_);
  form->addRow(tr("&B"), second_);
  auto* heads = new QLabel(tr("Hea&ds (layers down)"));
  heads->setBuddy(grid_);
  grid_->set_heads(&heads_);
  grid_->setMinimumHeight(6 * fontMetrics().height());

  auto* layout = new QVBoxLayout(this);
  layout->addWidget(model_);
  layout->addWidget(note_);
  layout->addWidget(open_);
  layout->addWidget(checkpoint_);
  layout->addLayout(form);
  layout->addWidget(heads);
  layout->addWidget(grid_, 1);

  for (PatternPicker* picker : {first_, second_}) {
    connect(picker, &PatternPicker::changed, this, &AttentionSource::patterns_changed);
    connect(picker, &PatternPicker::file_failed, this, &AttentionSource::failed);
  }
  connect(grid_, &HeadGridView::chosen, session_, &AttentionSession::choose_head);
  connect(session_, &AttentionSession::opened, this, &AttentionSource::describe);
  connect(session_, &AttentionSession::sampled, &heads_, &HeadGridModel::set_summary);
  connect(session_, &AttentionSession::head_changed, this,
          [this] { grid_->choose(session_->head().layer, session_->head().head); });
}

void AttentionSource::patterns_changed() {
  session_->set_patterns(first_->choice(), second_->choice());
}

void AttentionSource::describe() {
  heads_.set_dump(session_->dump());
  const DumpInfo& info = session_->dump()->info();
  model_->setText(words(info.model));
  const QString sizes =
      tr("%1, %2 of %3 and %4.")
          .arg(counted(info.layout.tokens(), tr("token"), tr("tokens")),
               counted(static_cast<qint64>(info.layers.size()), tr("layer"), tr("layers")),
               counted(info.heads, tr("head"), tr("heads")),
               counted(info.head_dim, tr("value"), tr("values")));
  note_->setText(info.note.empty() ? sizes : words(info.note) + QLatin1Char('\n') + sizes);
  note_->setToolTip(session_->file());
  const PatternChoice ran{info.pattern, info.windows.front()};
  first_->set_no_choice_words(tr("As it ran: %1").arg(ran.title()));
  if (!session_->file().isEmpty()) remember_dump(session_->file());
}

void AttentionSource::fill_menu() {
  QMenu* menu = open_->menu();
  menu->clear();
  menu->addAction(tr("&Open a file…"), this, &AttentionSource::ask_for_dump);
  menu->addAction(tr("The &example"), session_, &AttentionSession::open_example);
  const QStringList recent = recent_dumps();
  if (!recent.isEmpty()) menu->addSeparator();
  for (const QString& file : recent) {
    QAction* action =
        menu->addAction(QFileInfo(file).fileName(), this, [this, file] { session_->open(file); });
    action->setToolTip(file);
  }
  menu->setToolTipsVisible(true);
}

void AttentionSource::ask_for_dump() {
  ask_for_file(this, tr("Open a dump"), tr("Dumps (*.safetensors)"),
               [this](const QString& file) { session_->open(file); });
}

}  // namespace attnscope::gui
