// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/patterns_page.h"

#include <QButtonGroup>
#include <QFontMetrics>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QItemSelectionModel>
#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QSlider>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include "app/gui/charts/mask_export.h"
#include "app/gui/charts/mask_view.h"
#include "app/gui/session/text.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/message_bar.h"
#include "app/gui/views/pattern_costs.h"

namespace attnscope::gui {
namespace {

constexpr int first_window = 4;  // the paper's

QSpinBox* token_count(int value, const QString& tip, const char* name) {
  auto* box = new QSpinBox;
  box->setRange(0, 100'000);
  box->setValue(value);
  box->setGroupSeparatorShown(true);
  box->setAlignment(Qt::AlignRight);
  box->setToolTip(tip);
  box->setObjectName(QLatin1String(name));
  return box;
}

/// One of several choices side by side. Fusion's pressed tool buttons hardly differ from the
/// others, least of all on a dark ground, and a style sheet would keep the colours of the first
/// palette.
class ChoiceButton : public QToolButton {
 public:
  QSize sizeHint() const override {
    const QFontMetrics metrics(font());
    return {metrics.horizontalAdvance(text()) + 24, metrics.height() + 12};
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    QPainter painter(this);
    const QPalette colors = palette();
    painter.setPen(colors.color(hasFocus() ? QPalette::Link : QPalette::Mid));
    painter.setBrush(colors.brush(isChecked() ? QPalette::Highlight : QPalette::Button));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
    painter.setPen(colors.color(isChecked() ? QPalette::HighlightedText : QPalette::ButtonText));
    painter.drawText(rect(), Qt::AlignCenter, text());
  }
};

}  // namespace

const std::vector<Window>& slider_windows() {
  static const std::vector<Window> all = [] {
    std::vector<Window> windows;
    for (const int width : {0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64})
      windows.push_back(Window::of(width));
    windows.push_back(Window::infinite());
    return windows;
  }();
  return all;
}

PatternsPage::PatternsPage(QWidget* parent)
    : QWidget(parent),
      list_(new QListView),
      window_slider_(new QSlider(Qt::Horizontal)),
      window_value_(new QLabel),
      query_(token_count(11, tr("Query tokens with their [SEP]"), "query_tokens")),
      document_(token_count(162, tr("Document tokens with their [SEP]"), "document_tokens")),
      stride_(new QSpinBox),
      stride_label_(new QLabel(tr("Sentence e&very"))),
      title_(new QLabel),
      description_(new QLabel),
      styles_(new QButtonGroup(this)),
      mask_(new charts::MaskView),
      explanation_(new QLabel),
      costs_(new PatternCosts),
      export_(new QPushButton(tr("Export mask"))),
      messages_(new MessageBar) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(12, 12, 12, 12);
  layout->setSpacing(20);
  layout->addWidget(build_left());
  layout->addWidget(build_middle(), 1);
  layout->addWidget(build_right());

  connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          &PatternsPage::pattern_chosen);
  connect(window_slider_, &QSlider::valueChanged, this, &PatternsPage::refresh);
  for (QSpinBox* box : {query_, document_, stride_})
    connect(box, &QSpinBox::valueChanged, this, &PatternsPage::refresh);
  connect(mask_, &charts::MaskView::hovered, this, &PatternsPage::hovered);
  choose(QStringLiteral("sparse"));
  if (!list_->currentIndex().isValid() && patterns_.rowCount() > 0)
    list_->setCurrentIndex(patterns_.index(0));
}

QWidget* PatternsPage::build_left() {
  list_->setModel(&patterns_);
  list_->setObjectName(QStringLiteral("patterns"));
  list_->setAccessibleName(tr("Patterns"));
  list_->setSpacing(2);
  list_->setTextElideMode(Qt::ElideRight);
  auto* open = new QPushButton(tr("Open pattern file…"));
  open->setToolTip(tr("A pattern of your own, as JSON (Ctrl+O)"));
  connect(open, &QPushButton::clicked, this, &PatternsPage::ask_for_file);

  auto* left = new QWidget;
  left->setFixedWidth(240);
  auto* layout = new QVBoxLayout(left);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(10);
  layout->addWidget(list_, 1);
  layout->addWidget(open);
  layout->addSpacing(8);
  layout->addWidget(build_controls());
  return left;
}

QWidget* PatternsPage::build_controls() {
  window_slider_->setRange(0, static_cast<int>(slider_windows().size()) - 1);
  window_slider_->setValue(first_window);
  window_slider_->setPageStep(1);
  window_slider_->setTickPosition(QSlider::TicksBelow);
  window_slider_->setTickInterval(1);
  window_slider_->setObjectName(QStringLiteral("window_slider"));
  window_slider_->setAccessibleName(tr("Window"));
  window_value_->setObjectName(QStringLiteral("window_value"));
  stride_->setRange(1, 10'000);
  stride_->setSuffix(tr(" tokens"));
  stride_->setAlignment(Qt::AlignRight);
  stride_->setToolTip(tr("Every so many document tokens a sentence starts"));
  stride_->setObjectName(QStringLiteral("sentence_stride"));
  stride_label_->setBuddy(stride_);

  auto* window_title = new QLabel(tr("&Window"));
  window_title->setBuddy(window_slider_);
  auto* window_line = new QHBoxLayout;
  window_line->addWidget(window_title);
  window_line->addStretch();
  window_line->addWidget(window_value_);

  auto* form = new QFormLayout;
  form->setContentsMargins(0, 0, 0, 0);
  form->setVerticalSpacing(8);
  form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  form->addRow(tr("&Query tokens"), query_);
  form->addRow(tr("&Document tokens"), document_);
  form->addRow(stride_label_, stride_);

  auto* controls = new QWidget;
  auto* layout = new QVBoxLayout(controls);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addLayout(window_line);
  layout->addWidget(window_slider_);
  layout->addSpacing(6);
  layout->addLayout(form);
  return controls;
}

QWidget* PatternsPage::build_styles() {
  auto* row = new QWidget;
  auto* layout = new QHBoxLayout(row);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  struct Style {
    charts::MaskStyle style;
    QString name, tip;
  };
  const Style all[] = {
      {charts::MaskStyle::schematic, tr("Schematic"),
       tr("A small stand-in, as in the paper's figure")},
      {charts::MaskStyle::equal_groups, tr("Equal groups"), tr("Every token group equally large")},
      {charts::MaskStyle::true_scale, tr("True scale"),
       tr("Every token equally large; wheel zooms")}};
  for (const Style& style : all) {
    auto* button = new ChoiceButton;
    button->setText(style.name);
    button->setToolTip(style.tip);
    button->setCheckable(true);
    button->setFocusPolicy(Qt::TabFocus);
    button->setChecked(style.style == mask_->style());
    styles_->addButton(button, static_cast<int>(style.style));
    layout->addWidget(button);
  }
  connect(styles_, &QButtonGroup::idClicked, this, [this](int id) {
    mask_->set_style(static_cast<charts::MaskStyle>(id));
    hovered(-1, -1);
  });
  return row;
}

QWidget* PatternsPage::build_middle() {
  QFont large = title_->font();
  large.setBold(true);
  large.setPointSizeF(large.pointSizeF() * 1.2);
  title_->setFont(large);
  description_->setWordWrap(true);
  description_->setTextFormat(Qt::PlainText);
  description_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  mask_->setObjectName(QStringLiteral("mask"));
  explanation_->setObjectName(QStringLiteral("explanation"));
  explanation_->setWordWrap(true);
  explanation_->setTextFormat(Qt::PlainText);
  // Two lines are reserved, so that the mask does not jump while the pointer moves over it.
  explanation_->setMinimumHeight(2 * explanation_->fontMetrics().lineSpacing());
  explanation_->setAlignment(Qt::AlignTop | Qt::AlignLeft);

  auto* heading = new QHBoxLayout;
  heading->addWidget(title_, 1);
  heading->addWidget(build_styles());
  auto* middle = new QWidget;
  auto* layout = new QVBoxLayout(middle);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(8);
  layout->addWidget(messages_);
  layout->addLayout(heading);
  layout->addWidget(description_);
  layout->addWidget(mask_, 1);
  layout->addWidget(explanation_);
  return middle;
}

QWidget* PatternsPage::build_right() {
  export_->setObjectName(QStringLiteral("export_mask"));
  export_->setMenu(new QMenu(export_));
  for (const char* extension : {"pdf", "svg", "png"}) {
    export_->menu()->addAction(tr("As %1…").arg(QString::fromLatin1(extension).toUpper()), this,
                               [this, extension] { export_mask(QLatin1String(extension)); });
  }
  auto* right = new QWidget;
  right->setFixedWidth(220);
  auto* layout = new QVBoxLayout(right);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(12);
  layout->addWidget(costs_, 1);
  layout->addWidget(export_);
  return right;
}

AttentionPattern PatternsPage::pattern() const {
  AttentionPattern chosen = patterns_.pattern(list_->currentIndex().row());
  if (chosen.has_sentences()) chosen.sentence_every = stride_->value();
  return chosen;
}

std::optional<Window> PatternsPage::window() const {
  const auto row = list_->currentIndex().row();
  if (row < 0 || !patterns_.pattern(row).has_window()) return std::nullopt;
  return slider_windows()[static_cast<std::size_t>(window_slider_->value())];
}

LayoutItem PatternsPage::item() const {
  return {.cls = 1, .query = query_->value(), .documents = {document_->value()}};
}

void PatternsPage::pattern_chosen() {
  const int row = list_->currentIndex().row();
  if (row < 0) return;
  const AttentionPattern& chosen = patterns_.pattern(row);
  title_->setText(words(chosen.title.empty() ? chosen.name : chosen.title));
  description_->setText(words(chosen.description));
  description_->setVisible(!chosen.description.empty());
  window_slider_->setEnabled(chosen.has_window());
  stride_->setVisible(chosen.has_sentences());
  stride_label_->setVisible(chosen.has_sentences());
  if (chosen.sentence_every) {
    const QSignalBlocker quiet(stride_);
    stride_->setValue(static_cast<int>(*chosen.sentence_every));
  }
  refresh();
}

void PatternsPage::refresh() {
  if (!list_->currentIndex().isValid()) return;
  const std::optional<Window> chosen = window();
  window_value_->setText(!chosen ? tr("none in this pattern")
                         : chosen->is_infinite()
                             ? QStringLiteral("w = ∞")
                             : QStringLiteral("w = %1").arg(words(chosen->text())));
  // The view shows what is wrong with a problem it cannot draw.
  (void)mask_->show_mask(pattern(), chosen, item());
  costs_->show_costs(pattern(), chosen, item());
  hovered(-1, -1);
}

void PatternsPage::hovered(qint64 query, qint64 key) {
  explanation_->setText(query < 0 ? tr("Point at the mask: rows attend, columns are attended to.")
                                  : mask_->explain(query, key));
}

Status PatternsPage::open_file(const QString& file) {
  const Result<int> row = patterns_.open_file(file);
  if (!row) {
    messages_->show_error(words(row.error().message));
    return tl::unexpected(row.error());
  }
  messages_->clear();
  list_->setCurrentIndex(patterns_.index(*row));
  pattern_chosen();  // a file opened again keeps its row
  return {};
}

void PatternsPage::choose(const QString& pattern_name) {
  for (int row = 0; row < patterns_.rowCount(); ++row) {
    if (words(patterns_.pattern(row).name) == pattern_name)
      list_->setCurrentIndex(patterns_.index(row));
  }
}

void PatternsPage::ask_for_file() {
  gui::ask_for_file(this, tr("Open a pattern"), tr("Patterns (*.json)"),
                    [this](const QString& file) { (void)open_file(file); });
}

void PatternsPage::export_mask(const QString& extension) {
  const QString stem = words(pattern().name) +
                       (window() ? QStringLiteral("-w") + words(window()->text()) : QString());
  ask_for_new_file(this, tr("Export mask"), stem, extension, [this](const QString& file) {
    charts::MaskOptions options;
    options.style = mask_->style();
    const Status written =
        charts::export_mask(pattern(), window(), item(), file.toStdString(), options);
    if (written) {
      messages_->show_info(tr("Wrote %1").arg(file));
    } else {
      messages_->show_error(words(written.error().message));
    }
  });
}

}  // namespace attnscope::gui
