// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_export.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDialogButtonBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QPushButton>
#include <QVBoxLayout>

namespace attnscope::gui {
namespace {

struct Venue {
  const char* name;
  double width_mm;  // 0: as typed
};
constexpr Venue venues[] = {{"LNCS text, 122 mm", 122},
                            {"ACM column, 84 mm", 84},
                            {"ACL column, 77 mm", 77},
                            {"Another width", 0}};

}  // namespace

AttentionExport::AttentionExport(QWidget* parent)
    : QDialog(parent),
      venue_(new QComboBox),
      format_(new QComboBox),
      width_(new QDoubleSpinBox),
      font_(new QDoubleSpinBox),
      titles_(new QCheckBox(tr("&Titles above the maps"))),
      caption_(new QCheckBox(tr("&Caption with what the weights are of"))),
      numbers_(new QCheckBox(tr("The &numbers beside it, as CSV"))) {
  setWindowTitle(tr("Export figure"));
  setAttribute(Qt::WA_DeleteOnClose);
  venue_->setObjectName(QStringLiteral("venue"));
  for (const Venue& venue : venues) venue_->addItem(tr(venue.name), venue.width_mm);
  width_->setObjectName(QStringLiteral("width"));
  width_->setRange(30, 2000);
  width_->setDecimals(1);
  width_->setSuffix(tr(" mm"));
  width_->setValue(venues[0].width_mm);
  font_->setRange(4, 40);
  font_->setDecimals(1);
  font_->setSuffix(tr(" pt"));
  font_->setValue(8);
  for (const char* format : {"PDF", "SVG", "PNG"}) format_->addItem(QLatin1String(format));
  titles_->setChecked(true);
  caption_->setChecked(true);
  numbers_->setObjectName(QStringLiteral("numbers"));
  numbers_->setToolTip(tr("Mass from group to group, in a file of the same name ending in .csv"));

  auto* form = new QFormLayout;
  form->addRow(tr("&Venue"), venue_);
  form->addRow(tr("&Width"), width_);
  form->addRow(tr("&Font size"), font_);
  form->addRow(tr("For&mat"), format_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Cancel);
  QPushButton* write = buttons->addButton(tr("&Export…"), QDialogButtonBox::AcceptRole);
  write->setDefault(true);
  auto* layout = new QVBoxLayout(this);
  layout->addLayout(form);
  for (QCheckBox* box : {titles_, caption_, numbers_}) layout->addWidget(box);
  layout->addWidget(buttons);

  connect(venue_, &QComboBox::currentIndexChanged, this, [this](int index) {
    if (const double width = venues[index].width_mm; width > 0) width_->setValue(width);
  });
  connect(width_, &QDoubleSpinBox::valueChanged, this, [this](double width) {
    const int known = venue_->findData(width);
    const QSignalBlocker quiet(venue_);
    venue_->setCurrentIndex(known >= 0 ? known : venue_->count() - 1);
  });
  connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
}

charts::HeatFigureOptions AttentionExport::options() const {
  return {.width_mm = width_->value(),
          .font_pt = font_->value(),
          .titles = titles_->isChecked(),
          .caption = caption_->isChecked()};
}

QString AttentionExport::extension() const {
  return format_->currentText().toLower();
}

bool AttentionExport::writes_numbers() const {
  return numbers_->isChecked();
}

}  // namespace attnscope::gui
