// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/compare_page.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>
#include <utility>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/progress_strip.h"
#include "app/gui/views/run_list_panel.h"
#include "app/gui/views/run_view.h"

namespace attnscope::gui {

ComparePage::ComparePage(RunListModel* runs, QWidget* parent)
    : QWidget(parent),
      runs_(runs),
      new_run_(new QPushButton(tr("New run…"))),
      quick_(new QPushButton(tr("Run the quick sweep"))),
      messages_(new MessageBar),
      progress_(new ProgressStrip),
      run_list_(new RunListPanel(runs)),
      run_view_(new RunView),
      empty_(build_empty()),
      body_(new QStackedWidget) {
  body_->addWidget(empty_);
  body_->addWidget(run_view_);

  auto* main = new QWidget;
  auto* column = new QVBoxLayout(main);
  column->setContentsMargins(12, 12, 12, 12);
  column->setSpacing(10);
  column->addWidget(messages_);
  column->addWidget(progress_);
  column->addWidget(body_, 1);

  auto* split = new QSplitter(Qt::Horizontal);
  split->setObjectName(QStringLiteral("compare_split"));
  split->addWidget(build_side());
  split->addWidget(main);
  split->setStretchFactor(1, 1);
  split->setSizes({250, 950});
  split->setChildrenCollapsible(false);
  split->setHandleWidth(1);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(split);

  connect(run_list_, &RunListPanel::run_chosen, this, [this](const QString& uuid) {
    body_->setCurrentWidget(run_view_);
    run_view_->choose_run(uuid);
  });
  connect(new_run_, &QPushButton::clicked, this, &ComparePage::new_run_asked);
  connect(quick_, &QPushButton::clicked, this, &ComparePage::quick_sweep_asked);
  connect(run_view_, &RunView::succeeded, messages_, &MessageBar::show_info);
  connect(run_view_, &RunView::failed, messages_,
          [this](const QString& sentence) { messages_->show_error(sentence); });
  connect(messages_, &MessageBar::mend_asked, this, &ComparePage::open_again_asked);
}

QWidget* ComparePage::build_side() {
  new_run_->setObjectName(QStringLiteral("new_run"));
  new_run_->setToolTip(tr("Measure a sweep (Ctrl+N)"));
  auto* side = new QWidget;
  side->setMinimumWidth(200);
  auto* layout = new QVBoxLayout(side);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(10);
  layout->addWidget(new_run_);
  layout->addWidget(run_list_, 1);
  return side;
}

QWidget* ComparePage::build_empty() {
  auto* title = new QLabel(tr("No runs yet"));
  QFont large = title->font();
  large.setPointSizeF(large.pointSizeF() * 1.6);
  title->setFont(large);
  title->setAlignment(Qt::AlignCenter);
  auto* text = new QLabel(tr(
      "A run measures attention patterns and their implementations on this machine. The quick "
      "sweep takes less than a minute: full attention and the sparse cross-encoder's, at lengths "
      "from 64 to 2048 tokens. Its time and memory charts grow here as it goes."));
  text->setWordWrap(true);
  text->setAlignment(Qt::AlignCenter);
  text->setFixedWidth(460);
  // Stretches, not an alignment: an aligned label is not given the height that its wrapped text
  // takes.
  auto* centred = new QHBoxLayout;
  centred->addStretch();
  centred->addWidget(text);
  centred->addStretch();
  quick_->setObjectName(QStringLiteral("quick_sweep"));
  quick_->setDefault(true);
  auto* empty = new QWidget;
  auto* layout = new QVBoxLayout(empty);
  layout->setSpacing(16);
  layout->addStretch();
  layout->addWidget(title);
  layout->addLayout(centred);
  layout->addWidget(quick_, 0, Qt::AlignHCenter);
  layout->addStretch();
  return empty;
}

void ComparePage::runs_changed() {
  progress_->show_run(runs_->live());
  if (runs_->rowCount() == 0) {
    body_->setCurrentWidget(empty_);
    return;
  }
  if (run_list_->chosen().isEmpty())
    choose_run(runs_->index(0).data(RunListModel::uuid_role).toString());
}

void ComparePage::show_starting() {
  messages_->clear();
  if (!runs_->live()) progress_->show_starting();
}

void ComparePage::choose_run(const QString& uuid) {
  run_list_->choose(uuid);
}

void ComparePage::show_refused(const QString& sentence) {
  messages_->show_error(sentence, tr("Try again"));
  new_run_->setEnabled(false);
  quick_->setEnabled(false);
}

void ComparePage::show_waiting(const QString& sentence) {
  waiting_ = sentence;
  messages_->show_info(sentence);
}

void ComparePage::show_waited() {
  // What was said since, the person may not have read yet.
  if (messages_->text() == std::exchange(waiting_, QString())) messages_->clear();
}

void ComparePage::show_store_opened() {
  messages_->clear();
  new_run_->setEnabled(true);
  quick_->setEnabled(true);
}

}  // namespace attnscope::gui
