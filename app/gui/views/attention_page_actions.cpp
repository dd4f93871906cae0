// SPDX-License-Identifier: GPL-3.0-or-later
//
// What page Attention can be asked for by name: the dump of a checkpoint.
#include <QToolButton>

#include "app/gui/views/attention_page.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/checkpoint_dialog.h"

namespace attnscope::gui {

void AttentionPage::build_actions() {
  checkpoint_action_->setShortcut(QKeySequence(tr("Ctrl+K")));
  checkpoint_action_->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  checkpoint_action_->setToolTip(
      tr("Compute what a model in Hugging Face's layout attends to (Ctrl+K)"));
  connect(checkpoint_action_, &QAction::triggered, this, &AttentionPage::ask_for_checkpoint);
  addAction(checkpoint_action_);
  source_->checkpoint_button()->setDefaultAction(checkpoint_action_);
}

QList<Page::PageActions> AttentionPage::page_actions() const {
  return {{tr("On page Attention"), actions()}};
}

void AttentionPage::ask_for_checkpoint() {
  auto* dialog = new CheckpointDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &CheckpointDialog::written, this,
          [this](const QString& file) { session_.open(file); });
  dialog->open();
}

}  // namespace attnscope::gui
