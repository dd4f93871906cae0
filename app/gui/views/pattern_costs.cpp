// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/pattern_costs.h"

#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>
#include <QVBoxLayout>

#include "app/gui/session/text.h"
#include "app/gui/views/theme.h"
#include "engine/pattern/compile_plan.h"
#include "engine/report/table.h"

namespace attnscope::gui {
namespace {

QLabel* value_label(const char* name) {
  auto* label = new QLabel;
  label->setObjectName(QLatin1String(name));
  label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

QSpinBox* number(int value, int highest, const QString& name) {
  auto* box = new QSpinBox;
  box->setRange(1, highest);
  box->setValue(value);
  box->setAlignment(Qt::AlignRight);
  box->setAccessibleName(name);
  return box;
}

void add_row(QFormLayout* form, const QString& title, QWidget* value, const QString& tip) {
  auto* label = new QLabel(title);
  label->setToolTip(tip);
  value->setToolTip(tip);
  value->setAccessibleName(title);
  form->addRow(label, value);
}

}  // namespace

QString count_words(double count) {
  static constexpr std::pair<double, const char*> scales[] = {
      {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}};
  for (const auto& [scale, letter] : scales) {
    if (count < scale) continue;
    const double unit = scale == 1e4 ? 1e3 : scale;
    const double value = count / unit;
    return QStringLiteral("%1 %2").arg(
        QString::number(value, 'f', value < 10 ? 2 : (value < 100 ? 1 : 0)), QLatin1String(letter));
  }
  return QString::number(count, 'f', 0);
}

PatternCosts::PatternCosts(QWidget* parent)
    : QWidget(parent),
      heads_(number(12, 1024, tr("Heads"))),
      head_dim_(number(32, 1024, tr("Head dimension"))),
      tokens_(value_label("cost_tokens")),
      pairs_(value_label("cost_pairs")),
      density_value_(value_label("cost_density")),
      flop_(value_label("cost_flop")),
      full_flop_(value_label("cost_full_flop")),
      bytes_(value_label("cost_bytes")),
      exponentials_(value_label("cost_exponentials")),
      problem_(new QLabel) {
  auto* title = new QLabel(tr("Cost of one forward call"));
  QFont bold = title->font();
  bold.setBold(true);
  title->setFont(bold);
  problem_->setWordWrap(true);
  problem_->hide();

  auto* form = new QFormLayout;
  form->setContentsMargins(0, 0, 0, 0);
  form->setHorizontalSpacing(12);
  form->setVerticalSpacing(8);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  add_row(form, tr("Tokens"), tokens_, tr("[CLS], query and document"));
  add_row(form, tr("Density"), density_value_, tr("Allowed pairs of all pairs"));
  add_row(form, tr("Pairs"), pairs_, tr("Allowed pairs of one head"));
  add_row(form, tr("FLOP"), flop_, tr("Two products over all heads: 4 · head dimension a pair"));
  add_row(form, tr("of full attention"), full_flop_, tr("Share of full attention's FLOP"));
  add_row(form, tr("Exponentials"), exponentials_, tr("One a pair and head, in the softmax"));
  add_row(form, tr("Least bytes"), bytes_, tr("float32 q, k, v read once and o written once"));
  form->addRow(tr("&Heads"), heads_);
  form->addRow(tr("Head d&imension"), head_dim_);

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(10);
  layout->addWidget(title);
  layout->addWidget(problem_);
  layout->addLayout(form);
  layout->addStretch();
  connect(heads_, &QSpinBox::valueChanged, this, &PatternCosts::recount);
  connect(head_dim_, &QSpinBox::valueChanged, this, &PatternCosts::recount);
}

void PatternCosts::show_costs(const AttentionPattern& pattern, std::optional<Window> window,
                              const LayoutItem& item) {
  pattern_ = pattern;
  window_ = window;
  item_ = item;
  recount();
}

void PatternCosts::recount() {
  const SequenceLayout layout = SequenceLayout::uniform(1, item_);
  const Result<AttentionPlan> plan = compile_plan(pattern_, window_, layout, heads_->value());
  problem_->setVisible(!plan.has_value());
  if (!plan) {
    problem_->setText(words(plan.error().message));
    density_ = 0;
    for (QLabel* label :
         {tokens_, pairs_, density_value_, flop_, full_flop_, bytes_, exponentials_})
      label->setText(QStringLiteral("–"));
    return;
  }
  const PlanCounts counts = count(*plan);
  const auto tokens = static_cast<double>(layout.tokens());
  const auto pairs = static_cast<double>(counts.pairs) / heads_->value();
  density_ = tokens > 0 ? pairs / (tokens * tokens) : 0;
  const double flop = useful_flop(counts, head_dim_->value());
  const double full = 4.0 * head_dim_->value() * heads_->value() * tokens * tokens;
  tokens_->setText(count_words(tokens));
  pairs_->setText(count_words(pairs));
  density_value_->setText(QString::number(density_ * 100, 'f', density_ < 0.1 ? 2 : 1) +
                          QStringLiteral(" %"));
  flop_->setText(count_words(flop));
  full_flop_->setText(full > 0 && flop > 0
                          ? QStringLiteral("1 / %1").arg(QString::number(full / flop, 'f', 1))
                          : QStringLiteral("–"));
  exponentials_->setText(count_words(static_cast<double>(counts.exponentials)));
  bytes_->setText(
      words(report::format_bytes(least_bytes(*plan, head_dim_->value(), DType::float32))));
}

}  // namespace attnscope::gui
