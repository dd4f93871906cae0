// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_source.h"

#include <QAction>
#include <QComboBox>
#include <QFileInfo>
#include <QFormLayout>
#include <QLabel>
#include <QMenu>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "app/gui/session/opened_files.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/head_grid.h"
#include "app/gui/views/theme.h"

namespace attnscope::gui {

PatternPicker::PatternPicker(PatternListModel* patterns, const QString& no_choice,
                             const QString& name, QWidget* parent)
    : QWidget(parent),
      patterns_(patterns),
      box_(picker(QStringLiteral("pattern"), name, {})),
      window_(new WindowBox) {
  box_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box_->setMinimumContentsLength(8);
  box_->addItem(no_choice);
  window_->setObjectName(QStringLiteral("window"));
  window_->setAccessibleName(tr("Window of %1").arg(name));
  window_->setToolTip(tr("w: tokens to each side that a token sees, any number or inf"));
  window_->setPrefix(QStringLiteral("w = "));
  window_->set_window(Window::of(4));  // the paper's
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
  return PatternChoice{pattern,
                       pattern.has_window() ? std::optional(window_->window()) : std::nullopt};
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
  const QString file = choice() ? patterns_->entry(box_->currentIndex() - 1).file : QString();
  return {{QStringLiteral("title"), title()},
          {QStringLiteral("file"), file},
          {QStringLiteral("window"), words(window_->window().text())}};
}

void PatternPicker::restore(const QVariantMap& chosen) {
  if (chosen.isEmpty()) return;
  if (const QString file = chosen.value(QStringLiteral("file")).toString(); !file.isEmpty()) {
    (void)patterns_->open_file(file);  // one that is gone is no choice
  }
  const QSignalBlocker quiet(window_);
  const std::string kept = chosen.value(QStringLiteral("window")).toString().toStdString();
  if (const Result<Window> window = parse_window(kept)) window_->set_window(*window);
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

AttentionSource::AttentionSource(AttentionSession* session, QAction* checkpoint, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(plain_label("dump_model")),
      note_(plain_label("dump_note")),
      open_(new QToolButton),
      first_(new PatternPicker(&patterns_, tr("As the model ran"), tr("Pattern A"))),
      second_(new PatternPicker(&patterns_, tr("None"), tr("Pattern B"))),
      heads_(new HeadGrid) {
  set_text(model_, TextSize::heading);
  for (QLabel* label : {model_, note_}) {
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  }
  auto* from_checkpoint = new QToolButton;
  from_checkpoint->setObjectName(QStringLiteral("open_checkpoint"));
  from_checkpoint->setDefaultAction(checkpoint);
  open_->setObjectName(QStringLiteral("open_dump"));
  open_->setText(tr("Open dump"));
  open_->setToolTip(tr("Queries and keys that scripts/attnscope_dump.py wrote (Ctrl+O)"));
  open_->setPopupMode(QToolButton::InstantPopup);
  open_->setMenu(new QMenu(open_));
  connect(open_->menu(), &QMenu::aboutToShow, this, &AttentionSource::fill_menu);
  fill_menu();
  for (QToolButton* button : {open_, from_checkpoint}) {
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    button->setFocusPolicy(Qt::StrongFocus);
  }
  auto* form = new QFormLayout;
  add_row(form, tr("&A"), first_, tr("The pattern under which the weights are shown"));
  add_row(form, tr("&B"), second_,
          tr("A second pattern: the same scores, normalised over its pairs"));
  first_->setObjectName(QStringLiteral("first"));
  second_->setObjectName(QStringLiteral("second"));
  auto* heads = new QLabel(tr("Hea&ds (layers down)"));
  heads->setBuddy(heads_);
  explain(heads, tr("Every layer of the model computes several attentions, its heads; the last "
                    "picture of a row is their mean"));
  heads_->setMinimumHeight(6 * fontMetrics().height());

  auto* layout = new QVBoxLayout(this);
  for (QWidget* part : std::initializer_list<QWidget*>{model_, note_, open_, from_checkpoint}) {
    layout->addWidget(part);
  }
  layout->addLayout(form);
  layout->addWidget(heads);
  layout->addWidget(heads_, 1);

  for (PatternPicker* picker : {first_, second_}) {
    connect(picker, &PatternPicker::changed, this,
            [this] { session_->set_patterns(first_->choice(), second_->choice()); });
    connect(picker, &PatternPicker::file_failed, this, &AttentionSource::failed);
  }
  connect(heads_, &HeadGrid::chosen, session_, &AttentionSession::choose_head);
  connect(session_, &AttentionSession::opened, this, &AttentionSource::describe);
  connect(session_, &AttentionSession::sampled, heads_, &HeadGrid::set_summary);
  connect(session_, &AttentionSession::head_changed, this,
          [this] { heads_->choose(session_->head().layer, session_->head().head); });
}

void AttentionSource::describe() {
  heads_->set_dump(session_->dump());
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
}

void AttentionSource::fill_menu() {
  QMenu* menu = open_->menu();
  menu->clear();
  menu->addAction(tr("&Open a file…"), this, &AttentionSource::ask_for_dump);
  menu->addAction(tr("The &example"), session_, &AttentionSession::open_example);
  const QStringList recent = recent_files(FileKind::dump);
  if (!recent.isEmpty()) menu->addSeparator();
  for (const QString& file : recent) {
    menu->addAction(QFileInfo(file).fileName(), this, [this, file] { session_->open(file); })
        ->setToolTip(file);
  }
  menu->setToolTipsVisible(true);
}

void AttentionSource::ask_for_dump() {
  ask_for_file(this, tr("Open a dump"), tr("Dumps (*.safetensors)"),
               [this](const QString& file) { session_->open(file); });
}

}  // namespace attnscope::gui
