// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_numbers.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QEvent>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QShortcut>
#include <QTabBar>
#include <QTabWidget>
#include <QTableWidget>
#include <algorithm>
#include <cmath>
#include <span>

#include "app/drawing/map.h"
#include "app/gui/charts/run_chart.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"
#include "app/gui/views/token_text.h"
#include "views/ui_attention_numbers.h"

namespace attnscope::gui {
namespace {

constexpr int all_entry = 0;
const auto chosen_data = QVariant(-2);  // of the entry for rows selected elsewhere

/// The tokens of a group as ranges.
std::vector<TokenRange> rows_of(const std::vector<TokenGroup>& groups, TokenGroup group) {
  std::vector<TokenRange> rows;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != group) continue;
    const auto at = static_cast<std::int64_t>(i);
    if (!rows.empty() && rows.back().end == at) {
      ++rows.back().end;
    } else {
      rows.push_back({at, at + 1});
    }
  }
  return rows;
}

// More stretches add nothing visible on a screen, and painting them would take noticeable time.
constexpr std::size_t most_stretches = 1500;

/// The mass that each token receives, along the sequence: one series per token group.
/// `mass`: by token, NaN where there is none; empty: no series. For very many tokens, only the
/// largest of each stretch is shown. A point's cell is its token.
report::Figure profile_figure(const DumpInfo& info, std::span<const double> mass) {
  report::Figure figure{.title = {},
                        .x_label = "Token, counted from 0",
                        .y_label = "Mass received (%)",
                        .x_scale = report::Scale::linear,
                        .y_scale = report::Scale::linear,
                        .series = {},
                        .provenance = {}};
  figure.is_joined = false;
  if (mass.size() != info.tokens.size()) return figure;
  for (const TokenGroup group : token_groups) {
    figure.series.push_back({.name = charts::group_title(group).toStdString(),
                             .style_key = std::string(name_of(group)),
                             .points = {},
                             .rail = {}});
  }
  const std::size_t step = (mass.size() + most_stretches - 1) / most_stretches;
  for (std::size_t first = 0; first < mass.size(); first += step) {
    const auto stretch = mass.subspan(first, std::min(step, mass.size() - first));
    const auto largest = std::ranges::max_element(
        stretch, {}, [](double value) { return std::isnan(value) ? -1 : std::abs(value); });
    const auto at = first + static_cast<std::size_t>(largest - stretch.begin());
    if (std::isnan(mass[at])) continue;
    const double percent = 100 * mass[at];
    figure.series[static_cast<std::size_t>(info.groups[at])].points.push_back(
        {.x = static_cast<double>(at),
         .y = percent,
         .low = percent,
         .high = percent,
         .label = info.tokens[at],
         .cell = static_cast<std::int64_t>(at)});
  }
  std::erase_if(figure.series, [](const report::Series& series) { return series.points.empty(); });
  return figure;
}

}  // namespace

QString side_name(AttentionSide side) {
  switch (side) {
    case AttentionSide::a:
      return AttentionNumbers::tr("A");
    case AttentionSide::b:
      return AttentionNumbers::tr("B");
    case AttentionSide::difference:
      break;
  }
  return AttentionNumbers::tr("B − A");
}

AttentionNumbers::AttentionNumbers(AttentionSession* session, QWidget* parent)
    : QWidget(parent), session_(session), ui_(std::make_unique<Ui::AttentionNumbers>()) {
  ui_->setupUi(this);
  build();
  wire();
  head_changed();
}

AttentionNumbers::~AttentionNumbers() = default;

void AttentionNumbers::build() {
  explain_fields(*this);
  for (const AttentionSide side : all_sides)
    ui_->side->addItem(tr("Numbers of %1").arg(side_name(side)));
  most_attended_.setSourceModel(&tokens_);
  most_attended_.setSortRole(AttendedTokensModel::size_role);
  most_attended_.setFilterRole(AttendedTokensModel::listed_role);
  most_attended_.setFilterFixedString(QStringLiteral("true"));
  most_attended_.sort(AttendedTokensModel::mass, Qt::DescendingOrder);
  for (QTableView* table : std::initializer_list<QTableView*>{ui_->attended, ui_->group_mass}) {
    set_up_table(table);
    table->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  }
  ui_->attended->setModel(&most_attended_);
  ui_->attended->setSelectionMode(QAbstractItemView::ExtendedSelection);
  ui_->attended->verticalHeader()->hide();
  QHeaderView* columns = ui_->attended->horizontalHeader();
  columns->setSectionResizeMode(QHeaderView::ResizeToContents);
  columns->setSectionResizeMode(AttendedTokensModel::token, QHeaderView::Stretch);
  ui_->attended->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  ui_->attended->viewport()->installEventFilter(this);
  ui_->group_mass->setSelectionMode(QAbstractItemView::ContiguousSelection);
  ui_->group_mass->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
  ui_->token_text->show_tokens(&tokens_);
  ui_->profile->set_placeholder(tr("Not computed yet"));
  ui_->groups_column->setContentsMargins(0, space::gap, 0, 0);
  ui_->number_tabs->tabBar()->setExpanding(false);
}

void AttentionNumbers::wire() {
  connect(session_, &AttentionSession::opened, this, &AttentionNumbers::dump_opened);
  connect(session_, &AttentionSession::head_changed, this, &AttentionNumbers::head_changed);
  connect(session_, &AttentionSession::received_changed, this, &AttentionNumbers::received_changed);
  connect(ui_->side, &QComboBox::activated, this,
          [this](int entry) { session_->choose_side(static_cast<AttentionSide>(entry)); });
  connect(ui_->rows, &QComboBox::activated, this, [this](int entry) {
    const QVariant picked = ui_->rows->itemData(entry);
    if (picked == chosen_data || !session_->dump()) return;
    session_->choose_rows(
        entry == all_entry ? std::vector<TokenRange>()
                           : rows_of(*session_->groups(), static_cast<TokenGroup>(picked.toInt())));
  });
  connect(ui_->attended_group, &QComboBox::activated, this, [this] {
    received_changed();
    Q_EMIT attended_changed();
  });
  connect(ui_->token_text, &TokenText::tokens_chosen, this,
          [this](TokenRange tokens) { session_->choose_rows({tokens}); });
  connect(ui_->token_text, &TokenText::selection_cleared, this,
          [this] { session_->choose_rows({}); });
  connect(ui_->token_text, &TokenText::hovered, this, &AttentionNumbers::hovered);
  connect(ui_->profile, &charts::RunChart::cell_chosen, this, &AttentionNumbers::hovered);
  connect(ui_->attended->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& current) {
            Q_EMIT hovered(current.isValid() ? most_attended_.mapToSource(current).row() : -1);
          });
  let_copy(ui_->attended, tr("Copied what each token receives"), &AttentionNumbers::token_grid);
  let_copy(ui_->group_mass, tr("Copied the mass from group to group"),
           &AttentionNumbers::group_grid);
}

void AttentionNumbers::let_copy(QTableView* table, const QString& what,
                                report::Sheet (AttentionNumbers::*grid)() const) {
  auto* key = new QShortcut(QKeySequence::Copy, table, nullptr, nullptr, Qt::WidgetShortcut);
  connect(key, &QShortcut::activated, this, [this, what, grid] {
    QApplication::clipboard()->setText(clipboard_text((this->*grid)(), report::TableFormat::text));
    Q_EMIT copied(what);
  });
}

bool AttentionNumbers::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::Resize) fit_columns();
  return QWidget::eventFilter(watched, event);
}

// The group column, which the text's colours also show, is hidden if space is short.
void AttentionNumbers::fit_columns() {
  QTableView& table = *ui_->attended;
  const QAbstractItemView& cells = table;
  int needed = 6 * fontMetrics().averageCharWidth();  // for a token
  for (const int column :
       {AttendedTokensModel::mass, AttendedTokensModel::position, AttendedTokensModel::group}) {
    needed += std::max(cells.sizeHintForColumn(column),
                       table.horizontalHeader()->sectionSizeHint(column));
  }
  table.setColumnHidden(AttendedTokensModel::group, needed > table.viewport()->width());
}

void AttentionNumbers::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) show_groups();
}

void AttentionNumbers::dump_opened() {
  groups_.clear();
  const std::vector<TokenGroup>& of_tokens = *session_->groups();
  for (const TokenGroup group : token_groups) {
    if (std::ranges::find(of_tokens, group) != of_tokens.end()) groups_.push_back(group);
  }
  tokens_.set_dump(session_->dump());
  for (QComboBox* box : {ui_->rows, ui_->attended_group}) {
    box->clear();
    box->addItem(tr("all tokens"), -1);
    for (const TokenGroup group : groups_) {
      box->addItem(charts::group_title(group), static_cast<int>(group));
    }
  }
  show_rows();
}

std::optional<TokenGroup> AttentionNumbers::attended_group() const {
  if (ui_->attended_group->currentIndex() <= all_entry) return std::nullopt;
  return static_cast<TokenGroup>(ui_->attended_group->currentData().toInt());
}

/// Rows selected on the map or in the text are a separate entry, the last.
void AttentionNumbers::show_rows() {
  if (!session_->dump()) return;
  if (const int last = ui_->rows->count() - 1; ui_->rows->itemData(last) == chosen_data) {
    ui_->rows->removeItem(last);
  }
  int entry = all_entry;
  if (!session_->rows().empty()) {
    for (int i = 1; i < ui_->rows->count(); ++i) {
      const auto group = static_cast<TokenGroup>(ui_->rows->itemData(i).toInt());
      if (rows_of(*session_->groups(), group) == session_->rows()) entry = i;
    }
    if (entry == all_entry) {
      ui_->rows->addItem(rows_text(), chosen_data);
      entry = ui_->rows->count() - 1;
    }
  }
  ui_->rows->setCurrentIndex(entry);
}

QString AttentionNumbers::rows_text() const {
  if (session_->rows().empty()) return tr("all tokens");
  const TokenRange rows = session_->rows().front();
  if (rows.size() > 1) return tr("Tokens %1 to %2").arg(rows.begin).arg(rows.end - 1);
  return tr("Token %1, %2")
      .arg(rows.begin)
      .arg(qstring(session_->dump()->info().tokens[static_cast<std::size_t>(rows.begin)]));
}

void AttentionNumbers::head_changed() {
  const bool second = session_->pattern(AttentionSide::b).has_value();
  ui_->side->setVisible(second);
  ui_->kept->setVisible(second);
  const std::optional<KeptMass>& kept = session_->head().kept;
  if (!second) return;
  if (!kept) {
    ui_->kept->setText(tr("Comparing A with B."));
    return;
  }
  QStringList groups;
  for (const TokenGroup group : groups_) {
    groups.append(tr("%1 %2").arg(charts::group_title(group),
                                  share_text(kept->by_group[static_cast<std::size_t>(group)])));
  }
  ui_->kept->setText(tr("B keeps %1 of A's mass: %2.")
                         .arg(share_text(kept->all), groups.join(QStringLiteral(", "))));
}

void AttentionNumbers::received_changed() {
  ui_->side->setCurrentIndex(static_cast<int>(session_->side()));
  show_rows();
  if (!session_->dump()) return;
  const bool difference = session_->side() == AttentionSide::difference;
  show_groups();
  const std::optional<Received>& received = session_->received();
  tokens_.set_mass(received ? received->mass : std::vector<double>(), attended_group(),
                   logarithmic_, difference);
  fit_columns();
  ui_->profile->set_figure(profile_figure(session_->dump()->info(), tokens_.masses()));
  const bool one_run = session_->rows().size() == 1;
  ui_->token_text->set_chosen(one_run ? std::optional(session_->rows().front()) : std::nullopt);
}

// A row per attending group and a column per attended group, each cell on the colour of its mass;
// dashes until it is computed.
void AttentionNumbers::show_groups() {
  const auto& summary = session_->head().side(session_->side()).summary;
  const bool difference = session_->side() == AttentionSide::difference;
  const charts::ChartTheme theme = charts::theme_of(palette());
  const auto count = static_cast<int>(groups_.size());
  ui_->group_mass->setRowCount(count);
  ui_->group_mass->setColumnCount(count);
  for (int row = 0; row < count; ++row) {
    const TokenGroup from = groups_[static_cast<std::size_t>(row)];
    const QString from_title = charts::group_title(from);
    // The full name would make its column twice as wide as the others.
    const QString heading = from == TokenGroup::sentence ? tr("sentence") : from_title;
    auto* attends = new QTableWidgetItem(heading);
    attends->setToolTip(tr("%1 tokens attend").arg(from_title));
    ui_->group_mass->setVerticalHeaderItem(row, attends);
    auto* attended = new QTableWidgetItem(heading);
    attended->setToolTip(tr("%1 tokens are attended to").arg(from_title));
    ui_->group_mass->setHorizontalHeaderItem(row, attended);
    for (int column = 0; column < count; ++column) {
      const TokenGroup to = groups_[static_cast<std::size_t>(column)];
      auto* cell = new QTableWidgetItem(QStringLiteral("–"));
      QString tip = tr("Not computed yet");
      if (summary) {
        const double mass = summary->mass(from, to);
        const QColor ground = charts::heat_color(mass, {.difference = difference}, theme);
        cell->setText(share_text(mass));
        cell->setBackground(ground);
        cell->setForeground(text_on(ground));
        tip = (difference ? tr("An average %1 token puts %2 more of its mass on %3 under B")
                          : tr("An average %1 token puts %2 of its mass on %3"))
                  .arg(from_title, share_text(mass), charts::group_title(to));
      }
      cell->setTextAlignment(Qt::AlignCenter);
      cell->setToolTip(tip);
      cell->setData(Qt::AccessibleTextRole, tip);
      ui_->group_mass->setItem(row, column, cell);
    }
  }
}

void AttentionNumbers::set_logarithmic(bool logarithmic) {
  logarithmic_ = logarithmic;
  received_changed();
}

void AttentionNumbers::set_marked(qint64 token) {
  ui_->token_text->set_marked(token);
}

report::Sheet AttentionNumbers::group_grid() const {
  report::Sheet grid{.columns = {{"from", "from", false}, {"to", "to", false}}};
  if (!session_->dump()) return grid;
  for (const AttentionSide side : all_sides) {
    if (!session_->head().side(side).summary) continue;
    const auto pattern = session_->pattern(side);
    const QString title = pattern ? QStringLiteral(": ") + pattern->title() : QString();
    const std::string side_title = (side_name(side) + title).toStdString();
    grid.columns.push_back({side_title, side_title});
  }
  for (const TokenGroup from : groups_) {
    for (const TokenGroup to : groups_) {
      std::vector<report::SheetCell> row{std::string(name_of(from)), std::string(name_of(to))};
      for (const AttentionSide side : all_sides) {
        const auto& summary = session_->head().side(side).summary;
        if (summary) row.emplace_back(number_text(summary->mass(from, to)));
      }
      grid.add(std::move(row));
    }
  }
  return grid;
}

report::Sheet AttentionNumbers::token_grid() const {
  report::Sheet grid{.columns = {{"position", "position"},
                                 {"token", "token", false},
                                 {"group", "group", false},
                                 {"received", "received"}}};
  const std::vector<double>& masses = tokens_.masses();
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const DumpInfo& info = session_->dump()->info();
    if (std::isnan(masses[i])) continue;
    grid.add({std::to_string(i), info.tokens[i], std::string(name_of(info.groups[i])),
              number_text(masses[i])});
  }
  return grid;
}

report::Sheet AttentionNumbers::grid_in_front() const {
  return ui_->group_mass->isVisibleTo(ui_->number_tabs) ? group_grid() : token_grid();
}

}  // namespace attnscope::gui
