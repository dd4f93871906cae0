// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/run_list_panel.h"

#include <QItemSelectionModel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QVBoxLayout>

#include "app/gui/models/run_list_model.h"
#include "app/gui/views/run_item_delegate.h"

namespace attnscope::gui {

RunListPanel::RunListPanel(RunListModel* model, QWidget* parent)
    : QWidget(parent), model_(model), search_(new QLineEdit), list_(new QListView) {
  proxy_.setSourceModel(model);
  proxy_.setFilterRole(RunListModel::search_role);
  proxy_.setFilterCaseSensitivity(Qt::CaseInsensitive);

  search_->setPlaceholderText(tr("Search runs"));
  search_->setAccessibleName(tr("Search runs"));
  search_->setClearButtonEnabled(true);
  search_->setObjectName(QStringLiteral("run_search"));
  list_->setModel(&proxy_);
  list_->setItemDelegate(new RunItemDelegate(list_));
  list_->setAccessibleName(tr("Runs"));
  list_->setObjectName(QStringLiteral("run_list"));
  list_->setFrameShape(QFrame::NoFrame);
  list_->setUniformItemSizes(true);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setContextMenuPolicy(Qt::CustomContextMenu);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(search_);
  layout->addWidget(list_, 1);

  connect(search_, &QLineEdit::textChanged, &proxy_, &QSortFilterProxyModel::setFilterFixedString);
  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& current) {
            if (current.isValid())
              Q_EMIT run_chosen(current.data(RunListModel::uuid_role).toString());
          });
  connect(list_, &QWidget::customContextMenuRequested, this, [this](QPoint position) {
    QMenu* menu = make_menu();
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->popup(list_->viewport()->mapToGlobal(position));
  });
}

void RunListPanel::choose(const QString& uuid) {
  const QModelIndex index = proxy_.mapFromSource(model_->index_of(uuid));
  if (index.isValid()) list_->setCurrentIndex(index);
}

QString RunListPanel::chosen() const {
  return list_->currentIndex().data(RunListModel::uuid_role).toString();
}

QMenu* RunListPanel::make_menu() {
  auto* menu = new QMenu(this);
  const QString uuid = chosen();
  const RunEntry* entry = model_->entry(uuid);
  if (entry) {
    const RunStatus status = entry->info.status;
    if (status == RunStatus::interrupted || status == RunStatus::cancelled) {
      menu->addAction(tr("Continue run"), this, [this, uuid] { Q_EMIT resume_asked(uuid); });
    }
    if (status != RunStatus::running && !entry->info.damaged)
      menu->addAction(tr("Measure again"), this, [this, uuid] { Q_EMIT again_asked(uuid); });
    if (!menu->isEmpty()) menu->addSeparator();
    menu->addAction(tr("Export run to a file…"), this, [this, uuid] { Q_EMIT export_asked(uuid); });
  }
  menu->addAction(tr("Import runs from a file…"), this, [this] { Q_EMIT import_asked(); });
  if (entry) {
    menu->addSeparator();
    QAction* remove =
        menu->addAction(tr("Remove run…"), this, [this, uuid] { Q_EMIT remove_asked(uuid); });
    remove->setEnabled(entry->info.status != RunStatus::running);
  }
  return menu;
}

}  // namespace attnscope::gui
