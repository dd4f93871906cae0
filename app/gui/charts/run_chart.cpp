// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/run_chart.h"

#include <QAccessibleWidget>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QLineF>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QStringList>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/gui/charts/figure_table.h"

namespace attnscope::charts {
namespace {

constexpr double key_zoom = 1.5, wheel_zoom = 1.25;
constexpr double key_step = 0.1;          // of the plot
constexpr double narrowest = 1e-3;        // of the whole axis
constexpr double least_panel_width = 16;  // em

/// Accessible interface: a chart with the value selected by keyboard.
class ChartAccess : public QAccessibleWidget {
 public:
  explicit ChartAccess(RunChart* chart) : QAccessibleWidget(chart, QAccessible::Chart) {}

  [[nodiscard]] QString text(QAccessible::Text kind) const override {
    const auto* chart = static_cast<const RunChart*>(widget());
    if (chart != nullptr && kind == QAccessible::Value) return chart->current_value();
    return QAccessibleWidget::text(kind);
  }
};

QAccessibleInterface* chart_access(const QString& /*class_name*/, QObject* object) {
  auto* chart = qobject_cast<RunChart*>(object);
  return chart == nullptr ? nullptr : new ChartAccess(chart);
}

/// The range from `low` to `high`, as positions on `axis`; nothing if it is the whole axis.
OptionalRange part_of(const AxisScale& axis, AxisRange whole, double low, double high) {
  // Positions on the whole axis, whose ends are 0 and 1.
  const double begin = axis.place(whole.low), end = axis.place(whole.high);
  double from = (low - begin) / (end - begin), to = (high - begin) / (end - begin);
  if (to - from < narrowest) {
    const double middle = (from + to) / 2;
    from = middle - narrowest / 2;
    to = middle + narrowest / 2;
  }
  if (to - from > 1 - 1e-6) return std::nullopt;
  const double shift = std::max(0.0, -from) - std::max(0.0, to - 1);
  const auto value = [&](double part) { return axis.value_at(begin + part * (end - begin)); };
  return AxisRange{value(from + shift), value(to + shift)};
}

template <typename Value>
std::optional<Value> value_of(const std::map<std::string, Value>& values,
                              const std::string& label) {
  const auto found = values.find(label);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace

RunChart::RunChart(QWidget* parent)
    : QWidget(parent), placeholder_(QStringLiteral("No values yet")) {
  QAccessible::installFactory(chart_access);  // does nothing if it is installed already
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  build_commands();
  describe();
}

RunChart::~RunChart() = default;

void RunChart::set_facets(const report::Facets& facets, std::vector<QString> placeholders) {
  facets_ = facets;
  placeholders_ = std::move(placeholders);
  if (panel_ >= facets_.panels.size()) panel_ = 0;
  scale_figures();
}

const report::Figure& RunChart::figure(std::size_t panel) const {
  static const report::Figure nothing;
  return panel < facets_.panels.size() ? facets_.panels[panel] : nothing;
}

void RunChart::scale_figures() {
  scaled_ = facets_.panels;
  for (report::Figure& figure : scaled_) {
    report::set_scales(figure, value_of(scales_, figure.x_label),
                       value_of(scales_, figure.y_label));
  }
  invalidate();
}

void RunChart::set_contenders(const std::vector<std::string>& ids) {
  if (contenders_ == ids) return;
  contenders_ = ids;
  styles_ = ContenderStyles(ids);
  invalidate();
}

void RunChart::set_placeholder(const QString& text) {
  if (placeholder_ == text) return;
  placeholder_ = text;
  invalidate();
}

void RunChart::set_title_shown(bool shown) {
  title_ = shown;
  invalidate();
}

void RunChart::set_legend_shown(bool shown) {
  legend_ = shown;
  invalidate();
}

OptionalScale RunChart::x_scale() const {
  return value_of(scales_, figure(panel_).x_label);
}

OptionalScale RunChart::y_scale() const {
  return value_of(scales_, figure(panel_).y_label);
}

OptionalRange RunChart::x_range() const {
  return value_of(ranges_, figure(panel_).x_label);
}

OptionalRange RunChart::y_range() const {
  return value_of(ranges_, figure(panel_).y_label);
}

report::Facets RunChart::shown_facets() const {
  report::Facets shown = facets_;
  shown.panels = scaled_;
  for (report::Figure& figure : shown.panels) {
    std::erase_if(figure.series, [this](const report::Series& series) {
      return hidden_.contains(series.style_key);
    });
    std::erase_if(figure.marks, [this](const report::Mark& mark) {
      return !crossovers_ || hidden_.contains(mark.style_key);
    });
  }
  return shown;
}

FigureOptions RunChart::shown_options() const {
  FigureOptions options;
  options.contenders = contenders_;
  options.intervals = intervals_;
  options.crossovers = crossovers_;
  options.ranges = ranges_;
  return options;
}

void RunChart::invalidate() {
  current_.reset();
  page_.reset();
  picture_ = {};
  // Only in this case is the page needed now: several changes in a row lay it out once.
  if (keyboard_series_ >= 0 && keyboard_series_ >= static_cast<int>(page().legend().size()))
    keyboard_series_ = -1;
  update();
  updateGeometry();
  describe();
  Q_EMIT changed();
}

const ChartPage& RunChart::page() const {
  // In a hidden tab the chart receives no resize events.
  if (!page_ || page_->size() != QSizeF(size())) {
    ChartPage::Look look;
    look.size = QSizeF(size());
    look.em = em_of(font());
    look.theme = theme_of(palette());
    look.title = title_;
    look.legend = legend_;
    look.placeholder = placeholder_;
    look.hidden = hidden_;
    look.intervals = intervals_;
    look.marks = crossovers_;
    look.ranges = ranges_;
    look.placeholders = placeholders_;
    look.least_panel_width = least_panel_width;
    report::Facets facets = facets_;
    facets.panels = scaled_;
    facets.warning.clear();  // the window shows it elsewhere
    // A contender outside the run gets its slot in a copy, so that drawing does not change styles_.
    ContenderStyles styles = styles_;
    page_ = std::make_unique<ChartPage>(facets, styles, look);
  }
  return *page_;
}

QString RunChart::value_at(QPointF position) const {
  if (const auto entry = page().legend_at(position)) return page().coincidence_in_words(*entry);
  const double radius = hover_radius * em_of(font());
  if (const DrawnPoint* point = page().nearest(position, radius)) return point->text;
  const auto panel = page().panel_at(position);
  const DrawnCeiling* ceiling = panel ? drawing(*panel).ceiling_at(position, radius / 4) : nullptr;
  return ceiling == nullptr ? QString() : ceiling->text;
}

QString RunChart::current_value() const {
  return current_ ? current_->text : QString();
}

QSize RunChart::sizeHint() const {
  const int em = static_cast<int>(em_of(font()));
  return {36 * em, std::max(26 * em, minimumSizeHint().height())};
}

QSize RunChart::minimumSizeHint() const {
  return {static_cast<int>(least_panel_width * em_of(font())),
          static_cast<int>(std::ceil(page().least_height()))};
}

void RunChart::paintEvent(QPaintEvent* /*event*/) {
  const int focused = hasFocus() ? keyboard_series_ : -1;
  const double ratio = devicePixelRatioF();
  const QSize pixels = (QSizeF(size()) * ratio).toSize();
  if (picture_.size() != pixels || pictured_series_ != focused) {
    picture_ = QPixmap(pixels);
    picture_.setDevicePixelRatio(ratio);
    picture_.fill(colors_of(theme_of(palette())).background);
    QPainter painter(&picture_);
    page().paint(painter, focused);
    pictured_series_ = focused;
  }
  QPainter painter(this);
  painter.drawPixmap(0, 0, picture_);
  const QColor selected = colors_of(theme_of(palette())).selected;
  painter.setRenderHint(QPainter::Antialiasing);
  if (current_) {
    const double em = em_of(font());
    painter.setPen(QPen(selected, 1.5 * line_width * em));
    painter.drawEllipse(current_->position, 0.6 * em, 0.6 * em);
  }
  if (drag_ == Drag::frame) {
    QColor ground = selected;
    ground.setAlphaF(0.15F);
    painter.setPen(QPen(selected, 1));
    painter.setBrush(ground);
    painter.drawRect(QRectF(drag_start_, drag_now_).normalized().intersected(active().plot()));
  }
  if (hasFocus()) {
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(selected, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void RunChart::resizeEvent(QResizeEvent* /*event*/) {
  const double before = page_ ? page_->least_height() : 0;
  page_.reset();
  picture_ = {};
  current_.reset();
  // A narrower legend is higher, so the layout must be updated.
  if (page().least_height() != before) updateGeometry();
}

void RunChart::set_current(std::optional<DrawnPoint> point) {
  const bool same =
      point.has_value() == current_.has_value() &&
      (!point || (point->position == current_->position && point->series == current_->series));
  if (same) return;
  current_ = std::move(point);
  update();
}

void RunChart::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) invalidate();
  QWidget::changeEvent(event);
}

// For screen readers: the name is the drawn content and the title; the description is the value
// selected by keyboard or a summary.
void RunChart::describe() {
  QStringList values, names;
  const auto add = [](QStringList& list, const std::string& text) {
    const QString word = QString::fromStdString(text);
    if (!word.isEmpty() && !list.contains(word)) list.append(word);
  };
  for (const report::Figure& panel : facets_.panels) {
    add(values, panel.y_label);
    for (const report::Series& series : panel.series) add(names, series.name);
  }
  QStringList parts;
  if (!values.isEmpty()) parts.append(values.join(QStringLiteral(", ")));
  const std::string& title = facets_.title.empty() ? figure().title : facets_.title;
  if (!title.empty()) parts.append(QString::fromStdString(title));
  setAccessibleName(parts.isEmpty() ? QStringLiteral("Chart")
                                    : QStringLiteral("Chart: ") + parts.join(QStringLiteral("; ")));
  if (current_) return setAccessibleDescription(current_->text);
  if (keyboard_series_ >= 0) {
    const LegendEntry& entry = page().legend()[static_cast<std::size_t>(keyboard_series_)];
    std::size_t count = 0;
    for (const report::Figure& panel : facets_.panels) {
      for (const report::Series& each : panel.series)
        count += each.style_key == entry.key ? each.points.size() : 0;
    }
    return setAccessibleDescription(
        QStringLiteral("%1, %2 %3, %4")
            .arg(entry.text)
            .arg(count)
            .arg(count == 1 ? QStringLiteral("value") : QStringLiteral("values"),
                 entry.visible ? QStringLiteral("shown") : QStringLiteral("hidden")));
  }
  if (names.isEmpty()) return setAccessibleDescription(placeholder_);
  QString text =
      QStringLiteral("%1 against %2 of %3 %4: %5.")
          .arg(values.join(QStringLiteral(", ")), QString::fromStdString(figure().x_label))
          .arg(names.size())
          .arg(names.size() == 1 ? QStringLiteral("contender") : QStringLiteral("contenders"),
               names.join(QStringLiteral("; ")));
  if (const OptionalRange zoomed = x_range()) {
    text += QStringLiteral(" Zoomed to %1 to %2.")
                .arg(number_text(zoomed->low), number_text(zoomed->high));
  }
  setAccessibleDescription(
      text +
      QStringLiteral(" Up and Down select a series, Left and Right read its values, Space hides or "
                     "shows it, T opens the numbers as a table, the Menu key lists all commands."));
}

// While the chart has the focus, its keys override the window's shortcuts.
bool RunChart::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride &&
      command_of(*static_cast<QKeyEvent*>(event)) != nullptr) {
    event->accept();
    return true;
  }
  return QWidget::event(event);
}

void RunChart::update_cursor(QPointF position) {
  if (drag_ == Drag::move) {
    setCursor(Qt::ClosedHandCursor);
  } else if (page().legend_at(position)) {
    setCursor(Qt::PointingHandCursor);
  } else {
    setCursor(Qt::ArrowCursor);
  }
}

void RunChart::mouseMoveEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  if (drag_ == Drag::move) {
    const QRectF plot = active().plot();
    const QPointF moved = position - drag_now_;
    drag_now_ = position;
    move_view(-moved.x() / plot.width(), moved.y() / plot.height());
    return;
  }
  if (drag_ == Drag::frame) {
    drag_now_ = position;
    update();
    return;
  }
  const DrawnPoint* point = page().nearest(position, hover_radius * em_of(font()));
  set_current(point == nullptr ? std::nullopt : std::optional(*point));
  update_cursor(position);
  const QString text = value_at(position);
  if (text.isEmpty()) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(event->globalPosition().toPoint(), text, this);
  }
}

void RunChart::mousePressEvent(QMouseEvent* event) {
  const QPointF position = event->position();
  const bool left = event->button() == Qt::LeftButton;
  if (const auto entry = left ? page().legend_at(position) : std::nullopt) {
    keyboard_series_ = *entry;
    return toggle(*entry);
  }
  panel_ = page().panel_at(position).value_or(panel_);
  if ((!left && event->button() != Qt::MiddleButton) || !has_plot() ||
      !active().plot().contains(position)) {
    return QWidget::mousePressEvent(event);
  }
  drag_ = event->modifiers().testFlag(Qt::ShiftModifier) ? Drag::frame : Drag::move;
  drag_start_ = drag_now_ = position;
  set_current(std::nullopt);
  update_cursor(position);
}

void RunChart::mouseReleaseEvent(QMouseEvent* event) {
  const Drag drag = drag_;
  drag_ = Drag::none;
  if (drag == Drag::none) return QWidget::mouseReleaseEvent(event);
  const double moved = QLineF(drag_start_, event->position()).length();
  const DrawnPoint* point = moved < QApplication::startDragDistance()
                                ? page().nearest(event->position(), hover_radius * em_of(font()))
                                : nullptr;
  if (point != nullptr && point->cell >= 0) {
    Q_EMIT cell_chosen(point->cell);
  } else if (drag == Drag::frame) {
    zoom_into(QRectF(drag_start_, event->position()).normalized());
  }
  update_cursor(event->position());
  update();
}

void RunChart::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto panel = page().panel_at(event->position());
  const bool on_plot = panel && drawing(*panel).plot().contains(event->position());
  if (event->button() != Qt::LeftButton || !on_plot) return mousePressEvent(event);
  reset_zoom();
}

void RunChart::wheelEvent(QWheelEvent* event) {
  const QPointF position = event->position();
  const double turns = event->angleDelta().y() / 120.0;
  const auto panel = page().panel_at(position);
  if (!panel || drawing(*panel).empty()) return event->ignore();
  const QRectF plot = drawing(*panel).plot(), around = drawing(*panel).rect();
  const QRectF over(QPointF(around.left(), plot.top()),
                    QPointF(plot.right(), plot.bottom() + 3 * em_of(font())));
  // The whole chart cannot be zoomed out: the surrounding page may scroll.
  if (turns == 0 || !over.contains(position) || (turns < 0 && !is_zoomed())) return event->ignore();
  panel_ = *panel;
  Axes axes = Axes::both;
  if (position.y() > plot.bottom()) axes = Axes::x;
  if (position.x() < plot.left()) axes = Axes::y;
  zoom(std::pow(wheel_zoom, turns), position, axes);
  event->accept();
}

void RunChart::leaveEvent(QEvent* /*event*/) {
  set_current(std::nullopt);
}

void RunChart::focusOutEvent(QFocusEvent* event) {
  drag_ = Drag::none;
  QWidget::focusOutEvent(event);
}

const RunChart::Command* RunChart::command_of(const QKeyEvent& event) const {
  const QKeySequence pressed(
      QKeyCombination(event.modifiers() & ~Qt::KeypadModifier, static_cast<Qt::Key>(event.key())));
  const auto found = std::ranges::find_if(commands_, [&](const Command& command) {
    return command.keys.contains(pressed) && command.can();
  });
  return found == commands_.end() ? nullptr : &*found;
}

void RunChart::keyPressEvent(QKeyEvent* event) {
  const Command* command = command_of(*event);
  if (command == nullptr) return QWidget::keyPressEvent(event);
  const QString before = accessibleDescription();
  command->act();
  describe();
  if (accessibleDescription() == before) return;
  QAccessibleValueChangeEvent reported(this, current_value());
  QAccessible::updateAccessibility(&reported);
  update();
}

void RunChart::toggle(int series) {
  const std::string& key = page().legend()[static_cast<std::size_t>(series)].key;
  if (hidden_.erase(key) == 0) hidden_.insert(key);
  invalidate();
}

void RunChart::choose_or_toggle() {
  if (current_ && current_->cell >= 0) {
    Q_EMIT cell_chosen(current_->cell);
  } else if (keyboard_series_ >= 0) {
    toggle(keyboard_series_);
  }
}

void RunChart::deselect() {
  drag_ = Drag::none;
  keyboard_series_ = -1;
  set_current(std::nullopt);
  update();
}

void RunChart::step_series(int direction) {
  const auto count = static_cast<int>(page().legend().size());
  if (count == 0) return;
  keyboard_series_ = keyboard_series_ < 0 ? (direction > 0 ? 0 : count - 1)
                                          : (keyboard_series_ + direction + count) % count;
  set_current(std::nullopt);
}

void RunChart::step_point(int direction) {
  if (keyboard_series_ < 0) step_series(+1);
  if (keyboard_series_ < 0) return;
  const std::string& key = page().legend()[static_cast<std::size_t>(keyboard_series_)].key;
  std::vector<std::pair<std::size_t, const DrawnPoint*>> stops;
  for (std::size_t panel = 0; panel < page().panels().size(); ++panel) {
    for (const DrawnPoint* stop : drawing(panel).stops_of(key)) stops.emplace_back(panel, stop);
  }
  if (stops.empty()) return;
  const auto at = std::ranges::find_if(stops, [this](const auto& stop) {
    return current_ && current_->position == stop.second->position;
  });
  const auto count = static_cast<int>(stops.size());
  const int index = at == stops.end() ? (direction > 0 ? 0 : count - 1)
                                      : std::clamp(static_cast<int>(at - stops.begin()) + direction,
                                                   0, count - 1);
  const auto& [panel, stop] = stops[static_cast<std::size_t>(index)];
  panel_ = panel;
  set_current(*stop);
  QToolTip::showText(mapToGlobal(stop->position.toPoint()), stop->text, this);
}

void RunChart::show_parts(OptionalRange right, OptionalRange up) {
  if (!has_plot()) return;
  AxisRanges ranges = ranges_;
  const auto show = [&](const std::string& label, const AxisScale& axis, AxisRange whole,
                        const OptionalRange& part) {
    if (!part) return;
    if (const OptionalRange shown = part_of(axis, whole, part->low, part->high)) {
      ranges[label] = *shown;
    } else {
      ranges.erase(label);
    }
  };
  show(figure(panel_).x_label, active().x_axis(), active().whole_x(), right);
  show(figure(panel_).y_label, active().y_axis(), active().whole_y(), up);
  if (ranges == ranges_) return;
  ranges_ = std::move(ranges);
  invalidate();
}

void RunChart::set_y_range(OptionalRange range) {
  const std::string& label = figure(panel_).y_label;
  if (range == y_range()) return;
  if (range) {
    ranges_[label] = *range;
  } else {
    ranges_.erase(label);
  }
  invalidate();
}

void RunChart::zoom(double factor, std::optional<QPointF> about, Axes axes) {
  const QRectF& plot = active().plot();
  const QPointF at = about.value_or(plot.center());
  const auto around = [factor](double place) {
    place = std::clamp(place, 0.0, 1.0);
    return AxisRange{place - place / factor, place + (1 - place) / factor};
  };
  show_parts(axes == Axes::y ? OptionalRange() : around((at.x() - plot.left()) / plot.width()),
             axes == Axes::x ? OptionalRange() : around((plot.bottom() - at.y()) / plot.height()));
}

void RunChart::move_view(double right, double up) {
  show_parts(x_range() ? OptionalRange({right, 1 + right}) : std::nullopt,
             y_range() ? OptionalRange({up, 1 + up}) : std::nullopt);
}

void RunChart::reset_zoom() {
  if (ranges_.empty()) return;
  ranges_.clear();
  invalidate();
}

// A frame that is flat in one direction zooms only along the other.
void RunChart::zoom_into(const QRectF& frame) {
  const QRectF plot = active().plot();
  const double left = std::max(frame.left(), plot.left()), top = std::max(frame.top(), plot.top());
  const double right = std::min(frame.right(), plot.right()),
               bottom = std::min(frame.bottom(), plot.bottom());
  const double least = em_of(font());
  OptionalRange x, y;
  if (right - left >= least)
    x = {(left - plot.left()) / plot.width(), (right - plot.left()) / plot.width()};
  if (bottom - top >= least)
    y = {(plot.bottom() - bottom) / plot.height(), (plot.bottom() - top) / plot.height()};
  show_parts(x, y);
}

// The keys are handled by the chart (see event()): they are not widget shortcuts; the menu shows
// them.
void RunChart::build_commands() {
  const auto always = [] { return true; };
  const auto has_values = [this] { return !page().empty(); };
  const auto has_plot_here = [this] { return has_plot(); };
  const auto zoomed = [this] { return is_zoomed(); };
  const auto on_series = [this] { return keyboard_series_ >= 0; };
  const auto add_key = [this](const QStringList& keys, std::function<bool()> can,
                              std::function<void()> act) {
    Command& command = commands_.emplace_back();
    for (const QString& key : keys) command.keys.append(QKeySequence(key));
    command.can = std::move(can);
    command.act = std::move(act);
  };
  const auto add = [this, add_key](const char* name, const QString& text, const QStringList& keys,
                                   std::function<bool()> can, std::function<void()> act) {
    add_key(keys, std::move(can), act);
    auto* action = new QAction(text, this);
    action->setObjectName(QLatin1String(name));
    action->setShortcuts(commands_.back().keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    connect(action, &QAction::triggered, this, std::move(act));
    commands_.back().action = action;
  };
  const auto add_switch = [this, add](const char* name, const QString& text, const QString& key,
                                      bool& on, std::function<bool()> can) {
    add(name, text, {key}, std::move(can), [this, &on] {
      on = !on;
      invalidate();
    });
    commands_.back().action->setCheckable(true);
    commands_.back().is_on = &on;
  };
  add("export_figure", tr("Export figure…"), {"E"}, has_values, [this] { Q_EMIT export_wanted(); });
  add("copy_numbers", tr("Copy numbers"), {"Ctrl+C"}, has_values, [this] { copy_numbers(); });
  add("show_table", tr("Numbers as a table"), {"T"}, has_plot_here, [this] { show_table(); });
  add_switch("intervals", tr("Interval bars"), "I", intervals_, always);
  add_switch("crossovers", tr("Crossovers"), "X", crossovers_, [this] {
    return std::ranges::any_of(facets_.panels,
                               [](const report::Figure& figure) { return !figure.marks.empty(); });
  });
  add("zoom_in", tr("Zoom in"), {"+", "=", "Shift++"}, has_plot_here,
      [this] { zoom(key_zoom, current_ ? std::optional(current_->position) : std::nullopt); });
  add("zoom_out", tr("Zoom out"), {"-"}, zoomed, [this] { zoom(1 / key_zoom); });
  add("reset_zoom", tr("Reset zoom"), {"0"}, zoomed, [this] { reset_zoom(); });
  // Commands that are only on the keyboard.
  add_key({"Up"}, always, [this] { step_series(-1); });
  add_key({"Down"}, always, [this] { step_series(+1); });
  add_key({"Left"}, always, [this] { step_point(-1); });
  add_key({"Right"}, always, [this] { step_point(+1); });
  add_key({"Ctrl+Left"}, always, [this] { move_view(-key_step, 0); });
  add_key({"Ctrl+Right"}, always, [this] { move_view(key_step, 0); });
  add_key({"Ctrl+Down"}, always, [this] { move_view(0, -key_step); });
  add_key({"Ctrl+Up"}, always, [this] { move_view(0, key_step); });
  add_key({"Space"}, on_series, [this] { toggle(keyboard_series_); });
  const auto on_something = [this] { return keyboard_series_ >= 0 || current_; };
  add_key({"Return"}, on_something, [this] { choose_or_toggle(); });
  add_key(
      {"Esc"}, [this, on_something] { return drag_ != Drag::none || on_something(); },
      [this] { deselect(); });
}

QAction* RunChart::action_named(const char* name) const {
  return findChild<QAction*>(QLatin1String(name), Qt::FindDirectChildrenOnly);
}

QMenu* RunChart::make_menu() {
  for (const Command& command : commands_) {
    if (command.action == nullptr) continue;
    command.action->setEnabled(command.can());
    if (command.is_on != nullptr) command.action->setChecked(*command.is_on);
  }
  QAction* crossings = action_named("crossovers");
  crossings->setToolTip(
      crossings->isEnabled()
          ? QString()
          : tr("No contender crosses the baseline here, or there is no baseline."));
  auto* menu = new QMenu(this);
  menu->setObjectName(QStringLiteral("chart_menu"));
  menu->addActions(
      {action_named("export_figure"), action_named("copy_numbers"), action_named("show_table")});
  menu->addSeparator();
  menu->addActions({action_named("intervals"), action_named("crossovers")});
  if (figure(panel_).x_names.empty()) {  // bars start at 0
    add_scale_menu(*menu, tr("Horizontal scale"), true);
    add_scale_menu(*menu, tr("Vertical scale"), false);
  }
  menu->addSeparator();
  menu->addActions({action_named("zoom_in"), action_named("zoom_out"), action_named("reset_zoom")});
  return menu;
}

void RunChart::add_scale_menu(QMenu& menu, const QString& title, bool along_x) {
  QMenu* scales = menu.addMenu(title);
  scales->setObjectName(along_x ? QStringLiteral("x_scale") : QStringLiteral("y_scale"));
  auto* group = new QActionGroup(scales);
  const OptionalScale chosen = along_x ? x_scale() : y_scale();
  const std::string& label = along_x ? figure(panel_).x_label : figure(panel_).y_label;
  const auto add = [&](const QString& text, OptionalScale scale) {
    QAction* action = scales->addAction(text, this, [this, label, scale] {
      scales_.erase(label);
      if (scale) scales_[label] = *scale;
      scale_figures();
    });
    action->setCheckable(true);
    action->setChecked(chosen == scale);
    action->setObjectName(scale ? QString::fromUtf8(report::name_of(*scale).data())
                                : QStringLiteral("own_scale"));
    group->addAction(action);
  };
  add(tr("Automatic"), std::nullopt);
  add(tr("Linear"), report::Scale::linear);
  add(tr("Logarithmic, powers of 2"), report::Scale::log2);
  add(tr("Logarithmic, powers of 10"), report::Scale::log10);
}

void RunChart::contextMenuEvent(QContextMenuEvent* event) {
  const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
  if (!by_key) panel_ = page().panel_at(event->pos()).value_or(panel_);
  QMenu* menu = make_menu();
  menu->setAttribute(Qt::WA_DeleteOnClose);
  menu->setToolTipsVisible(true);
  const QPoint there = current_ ? current_->position.toPoint() : rect().center();
  menu->popup(by_key ? mapToGlobal(there) : event->globalPos());
}

void RunChart::copy_numbers() const {
  if (page().empty()) return;
  QStringList texts;
  for (const report::Figure& shown : shown_facets().panels) {
    const QString title = QString::fromStdString(shown.title);
    const bool is_named = facets_.panels.size() > 1 && !title.isEmpty();
    texts.append((is_named ? title + QLatin1Char('\n') : QString()) + numbers_text(shown));
  }
  QApplication::clipboard()->setText(texts.join(QLatin1Char('\n')));
}

void RunChart::show_table() {
  const auto fill = [this] {
    const report::Facets shown = shown_facets();
    if (table_ && panel_ < shown.panels.size()) table_->show_figure(shown.panels[panel_]);
  };
  if (!table_) {
    table_ = new FigureTable(this);
    connect(this, &RunChart::changed, table_, fill);
  }
  fill();
  table_->show();
  table_->raise();
  table_->activateWindow();
}

}  // namespace attnscope::charts
