// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/facets_view.h"

#include <QEvent>
#include <QFontInfo>
#include <QGridLayout>
#include <QLabel>
#include <QResizeEvent>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/gui/charts/facets_layout.h"

namespace attnscope::charts {

FacetsView::FacetsView(QWidget* parent)
    : QScrollArea(parent),
      grid_(new QGridLayout),
      title_(new QLabel),
      placeholder_(new QLabel),
      legend_(new RunChart) {
  setWidgetResizable(true);
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::NoFocus);  // its charts have it
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  QFont bold = title_->font();
  bold.setBold(true);
  title_->setFont(bold);
  title_->setTextFormat(Qt::PlainText);
  title_->setWordWrap(true);
  placeholder_->setTextFormat(Qt::PlainText);
  placeholder_->setWordWrap(true);
  placeholder_->setAlignment(Qt::AlignCenter);
  legend_->set_plot_shown(false);
  legend_->set_title_shown(false);
  legend_->setMinimumWidth(1);
  legend_->setObjectName(QStringLiteral("facets_legend"));
  grid_->setSpacing(0);
  auto* body = new QWidget;
  auto* layout = new QVBoxLayout(body);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(title_);
  layout->addWidget(placeholder_, 1);
  layout->addLayout(grid_, 1);
  layout->addWidget(legend_);
  setWidget(body);
  connect(legend_, &RunChart::series_toggled, this, &FacetsView::series_toggled);
  connect(legend_, &RunChart::export_wanted, this, &FacetsView::export_wanted);
  update_ground();
  set_facets({});
}

void FacetsView::set_placeholder(const QString& text) {
  placeholder_->setText(text);
}

void FacetsView::set_contenders(const std::vector<std::string>& ids) {
  contenders_ = ids;
  for (RunChart* chart : charts_) chart->set_contenders(ids);
  legend_->set_contenders(ids);
}

void FacetsView::adopt(RunChart& chart) {
  chart.set_legend_shown(false);
  chart.setMinimumWidth(1);  // the view itself chooses columns that leave it room
  chart.set_contenders(contenders_);
  for (const report::Series& series : legend_->figure().series) {
    const QString key = QString::fromStdString(series.style_key);
    chart.set_series_visible(key, legend_->is_series_visible(key));
  }
  if (!charts_.empty()) {
    const RunChart& first = *charts_.front();
    chart.set_intervals_shown(first.are_intervals_shown());
    chart.set_crossovers_shown(first.are_crossovers_shown());
    chart.set_x_scale(first.x_scale());
    chart.set_y_scale(first.y_scale());
  }
  link_charts(chart, *legend_);
  connect(&chart, &RunChart::series_toggled, this, &FacetsView::series_toggled);
  connect(&chart, &RunChart::cell_chosen, this, &FacetsView::cell_chosen);
  connect(&chart, &RunChart::export_wanted, this, &FacetsView::export_wanted);
  for (RunChart* other : charts_) {
    link_charts(chart, *other);
    const auto link_y = [](RunChart& from, RunChart& to) {
      connect(&from, &RunChart::y_range_chosen, &to, [&from, &to](OptionalRange range) {
        if (from.figure().y_label == to.figure().y_label) to.set_y_range(range);
      });
    };
    link_y(chart, *other);
    link_y(*other, chart);
  }
  // The legend hides and shows in all; panels hear of each other through their own links.
  charts_.push_back(&chart);
}

void FacetsView::set_facets(const report::Facets& facets) {
  facets_ = facets;
  title_->setText(QString::fromStdString(facets.title));
  title_->setVisible(!facets.title.empty() && !facets.panels.empty());
  placeholder_->setVisible(facets.panels.empty());
  legend_->setVisible(!facets.panels.empty());
  legend_->set_figure(frame_of(facets));
  while (charts_.size() > facets.panels.size()) {
    charts_.back()->hide();
    charts_.back()->deleteLater();
    charts_.pop_back();
  }
  while (charts_.size() < facets.panels.size()) {
    auto* chart = new RunChart(widget());
    chart->setObjectName(QStringLiteral("panel_%1").arg(charts_.size()));
    adopt(*chart);
  }
  for (std::size_t i = 0; i < charts_.size(); ++i) {
    SharedValues shared = shared_values(facets, facets.panels[i]);
    charts_[i]->set_shared_values(std::move(shared.x), std::move(shared.y));
    charts_[i]->set_figure(facets.panels[i]);
  }
  columns_ = 0;
  arrange();
}

void FacetsView::arrange() {
  if (charts_.empty()) return;
  const double em = QFontInfo(font()).pixelSize();
  // Room for the scroll bar is kept, so that its coming and going changes no columns.
  const double width = this->width() - verticalScrollBar()->sizeHint().width();
  const int columns = std::max(
      1, std::min(grid_of(facets_, width / em).columns, static_cast<int>(width / (16 * em))));
  if (columns == columns_) return;
  columns_ = columns;
  for (RunChart* chart : charts_) grid_->removeWidget(chart);
  QWidget* before = nullptr;
  for (std::size_t i = 0; i < charts_.size(); ++i) {
    const auto place = static_cast<int>(i);
    grid_->addWidget(charts_[i], place / columns, place % columns);
    charts_[i]->show();
    if (before != nullptr) QWidget::setTabOrder(before, charts_[i]);
    before = charts_[i];
  }
  QWidget::setTabOrder(before, legend_);
  const int count = static_cast<int>(charts_.size());
  for (int c = 0; c < std::max(grid_->columnCount(), columns); ++c) {
    grid_->setColumnStretch(c, c < std::min(columns, count) ? 1 : 0);
  }
}

report::Facets FacetsView::shown_facets() const {
  report::Facets shown = facets_;
  for (std::size_t i = 0; i < charts_.size(); ++i) shown.panels[i] = charts_[i]->shown_figure();
  return shown;
}

FigureOptions FacetsView::shown_options() const {
  FigureOptions options = charts_.empty() ? FigureOptions{} : charts_.front()->shown_options();
  options.contenders = contenders_;
  return options;
}

void FacetsView::set_series_visible(const QString& style_key, bool visible) {
  legend_->set_series_visible(style_key, visible);
  for (RunChart* chart : charts_) chart->set_series_visible(style_key, visible);
}

void FacetsView::set_intervals_shown(bool shown) {
  for (RunChart* chart : charts_) chart->set_intervals_shown(shown);
}

void FacetsView::set_crossovers_shown(bool shown) {
  for (RunChart* chart : charts_) chart->set_crossovers_shown(shown);
}

void FacetsView::set_x_scale(OptionalScale scale) {
  for (RunChart* chart : charts_) chart->set_x_scale(scale);
}

void FacetsView::set_y_scale(OptionalScale scale) {
  for (RunChart* chart : charts_) chart->set_y_scale(scale);
}

void FacetsView::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  arrange();
}

void FacetsView::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) update_ground();
  if (event->type() == QEvent::FontChange) arrange();
}

// Title and gaps on the ground that the charts have.
void FacetsView::update_ground() {
  if (legend_ == nullptr) return;
  QPalette ground = palette();
  ground.setColor(QPalette::Window, colors_of(theme_of(palette())).background);
  viewport()->setPalette(ground);
  viewport()->setAutoFillBackground(true);
  widget()->setAutoFillBackground(false);
}

}  // namespace attnscope::charts
