// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/about_dialog.h"

#include <fmt/core.h>

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFile>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <nlohmann/json.hpp>

#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"
#include "attnscope/build_info.h"
#include "engine/store/store.h"

namespace attnscope::gui {
namespace {

QLabel* paragraph(const QString& text) {
  auto* label = new QLabel(text);
  label->setTextFormat(Qt::PlainText);
  label->setWordWrap(true);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  return label;
}

QString parts() {
  return AboutDialog::tr("Qt %1, SQLite %2, nlohmann-json %3.%4.%5, fmt %6.%7")
      .arg(QLatin1String(qVersion()), words(sqlite_version()))
      .arg(NLOHMANN_JSON_VERSION_MAJOR)
      .arg(NLOHMANN_JSON_VERSION_MINOR)
      .arg(NLOHMANN_JSON_VERSION_PATCH)
      .arg(FMT_VERSION / 10000)
      .arg(FMT_VERSION / 100 % 100);
}

}  // namespace

QString citations() {
  QFile file(QStringLiteral(":/attnscope/citations.bib"));
  return file.open(QIODevice::ReadOnly) ? QString::fromUtf8(file.readAll()) : QString();
}

AboutDialog::AboutDialog(const std::filesystem::path& database, QWidget* parent) : QDialog(parent) {
  setWindowTitle(tr("About AttnScope"));
  auto* title = new QLabel(QStringLiteral("AttnScope %1").arg(QLatin1String(ATTNSCOPE_VERSION)));
  set_text(title, TextSize::title);

  auto* bibtex = new QPlainTextEdit(citations());
  bibtex->setReadOnly(true);
  bibtex->setAccessibleName(tr("Papers to cite, as BibTeX"));
  bibtex->setLineWrapMode(QPlainTextEdit::NoWrap);
  bibtex->setTabChangesFocus(true);
  auto* papers =
      new QLabel(tr("&Papers to cite: the first for sparse cross-encoders, the others "
                    "for what else you compare with."));
  papers->setWordWrap(true);
  papers->setBuddy(bibtex);

  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
  QPushButton* copy = buttons->addButton(tr("Copy BibTeX"), QDialogButtonBox::ActionRole);
  copy->setObjectName(QStringLiteral("copy_bibtex"));
  connect(copy, &QPushButton::clicked, this,
          [] { QApplication::clipboard()->setText(citations()); });
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);

  auto* layout = new QVBoxLayout(this);
  layout->addWidget(title);
  layout->addWidget(paragraph(
      tr("Which attention your re-ranker should use at your lengths: what it costs in time and "
         "memory on this machine, and what it attends to.")));
  layout->addWidget(paragraph(tr("Commit %1, built with %2. %3.")
                                  .arg(QLatin1String(ATTNSCOPE_GIT_COMMIT).left(12),
                                       QLatin1String(ATTNSCOPE_COMPILER), parts())));
  layout->addWidget(paragraph(tr("Database: %1").arg(words(database.string()))));
  layout->addWidget(
      paragraph(tr("This window is free software under the GNU General Public License, version 3 "
                   "or later; kernels, engine and worker are under the Apache License 2.0.")));
  layout->addWidget(papers);
  layout->addWidget(bibtex, 1);
  layout->addWidget(buttons);
  resize(fontMetrics().averageCharWidth() * 90, fontMetrics().height() * 32);
}

}  // namespace attnscope::gui
