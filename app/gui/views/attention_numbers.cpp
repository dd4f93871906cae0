// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_numbers.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QItemSelectionModel>
#include <QLabel>
#include <QShortcut>
#include <QTableView>
#include <QVBoxLayout>
#include <array>

#include "app/gui/charts/mask_colors.h"
#include "app/gui/models/table_text.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/group_mass_view.h"
#include "app/gui/views/token_profile.h"

namespace attnscope::gui {
namespace {

constexpr int all_entry = 0;
const auto chosen_data = QVariant(-2);  // of the entry for rows chosen elsewhere

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

}  // namespace

AttentionNumbers::AttentionNumbers(AttentionSession* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      side_(new QComboBox),
      rows_(new QComboBox),
      table_(new GroupMassTable(&groups_)),
      bars_(new GroupMassBars(&groups_)),
      kept_(new QLabel),
      profile_(new TokenProfile),
      token_table_(new QTableView) {
  build();
  connect(session_, &AttentionSession::opened, this, &AttentionNumbers::dump_opened);
  connect(session_, &AttentionSession::head_changed, this, &AttentionNumbers::head_changed);
  connect(session_, &AttentionSession::received_changed, this, &AttentionNumbers::received_changed);
  connect(side_, &QComboBox::activated, this,
          [this](int entry) { session_->choose_side(static_cast<AttentionSide>(entry)); });
  connect(rows_, &QComboBox::activated, this, &AttentionNumbers::rows_picked);
  connect(profile_, &TokenProfile::hovered, this, &AttentionNumbers::hovered);
  connect(token_table_->selectionModel(), &QItemSelectionModel::currentChanged, this,
          [this](const QModelIndex& current) {
            Q_EMIT hovered(current.isValid()
                               ? current.data(AttendedTokensModel::position_role).toLongLong()
                               : -1);
          });
}

void AttentionNumbers::build() {
  side_->setObjectName(QStringLiteral("side"));
  side_->setAccessibleName(tr("Numbers of"));
  side_->setToolTip(tr("Whose numbers are shown: the weights under A, under B, or what B changes"));
  for (const AttentionSide side : all_sides) {
    side_->addItem(tr("Numbers of %1").arg(side_name(side)));
  }
  rows_->setObjectName(QStringLiteral("rows"));
  rows_->setAccessibleName(tr("Attending tokens"));
  rows_->setToolTip(tr("Whose mass is shown; also chosen by dragging on the map or in the text"));
  rows_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  kept_->setObjectName(QStringLiteral("kept"));
  kept_->setWordWrap(true);
  kept_->setTextFormat(Qt::PlainText);
  token_table_->setObjectName(QStringLiteral("attended"));
  token_table_->setAccessibleName(tr("Most attended tokens"));
  token_table_->setModel(&tokens_);
  token_table_->setTabKeyNavigation(false);
  token_table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  token_table_->setShowGrid(false);
  token_table_->setMinimumHeight(7 * fontMetrics().height());
  token_table_->verticalHeader()->hide();
  token_table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  token_table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
  token_table_->horizontalHeader()->setSectionResizeMode(AttendedTokensModel::token,
                                                         QHeaderView::Stretch);
  for (auto* view : {static_cast<QTableView*>(table_), token_table_}) {
    auto* copy_key = new QShortcut(QKeySequence::Copy, view, nullptr, nullptr, Qt::WidgetShortcut);
    connect(copy_key, &QShortcut::activated, this, [this, view] {
      const bool of_tokens = view == token_table_;
      copy(of_tokens ? token_grid() : group_grid(),
           of_tokens ? tr("Copied what each token receives")
                     : tr("Copied the mass from group to group"));
    });
  }
  token_table_->setToolTip(tr("The tokens that receive most (Ctrl+C copies all of them)"));

  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  layout->addWidget(side_);
  layout->addWidget(heading(tr("Mass from (rows) &to (columns)"), table_));
  layout->addWidget(table_);
  layout->addWidget(bars_);
  layout->addWidget(kept_);
  layout->addSpacing(6);
  layout->addWidget(heading(tr("Mass received from the ro&ws of"), rows_));
  layout->addWidget(rows_);
  layout->addWidget(profile_);
  layout->addWidget(heading(tr("&Most attended"), token_table_));
  layout->addWidget(token_table_, 1);
  head_changed();
}

void AttentionNumbers::dump_opened() {
  groups_.set_groups(session_->dump()->info().groups);
  rows_->clear();
  rows_->addItem(tr("All tokens"), -1);
  for (const TokenGroup group : groups_.groups()) {
    rows_->addItem(charts::group_title(group), static_cast<int>(group));
  }
  show_rows();
}

void AttentionNumbers::rows_picked(int entry) {
  const QVariant picked = rows_->itemData(entry);
  if (picked == chosen_data || !session_->dump()) return;
  session_->choose_rows(
      entry == all_entry ? std::vector<TokenRange>()
                         : rows_of(*session_->groups(), static_cast<TokenGroup>(picked.toInt())));
}

/// Rows chosen on the map or in the text are an entry of their own, the last.
void AttentionNumbers::show_rows() {
  if (!session_->dump()) return;
  if (const int last = rows_->count() - 1; rows_->itemData(last) == chosen_data) {
    rows_->removeItem(last);
  }
  int entry = all_entry;
  if (!session_->rows().empty()) {
    for (int i = 1; i < rows_->count(); ++i) {
      const auto group = static_cast<TokenGroup>(rows_->itemData(i).toInt());
      if (rows_of(*session_->groups(), group) == session_->rows()) entry = i;
    }
    if (entry == all_entry) {
      rows_->addItem(rows_words(), chosen_data);
      entry = rows_->count() - 1;
    }
  }
  rows_->setCurrentIndex(entry);
}

QString AttentionNumbers::rows_words() const {
  if (session_->rows().empty()) return tr("all tokens");
  const TokenRange rows = session_->rows().front();
  if (rows.size() > 1) return tr("Tokens %1 to %2").arg(rows.begin).arg(rows.end - 1);
  return tr("Token %1, %2")
      .arg(rows.begin)
      .arg(words(session_->dump()->info().tokens[static_cast<std::size_t>(rows.begin)]));
}

void AttentionNumbers::head_changed() {
  const bool second = session_->pattern(AttentionSide::b).has_value();
  side_->setVisible(second);
  side_->setCurrentIndex(static_cast<int>(session_->side()));
  show_groups();
  kept_->setVisible(second);
  const std::optional<KeptMass>& kept = session_->head().kept;
  if (!second) return;
  if (!kept) {
    kept_->setText(tr("Comparing A with B."));
    return;
  }
  QStringList groups;
  for (const TokenGroup group : groups_.groups()) {
    groups.append(tr("%1 %2").arg(charts::group_title(group),
                                  share_words(kept->by_group[static_cast<std::size_t>(group)])));
  }
  kept_->setText(tr("B keeps %1 of A's mass: %2.")
                     .arg(share_words(kept->all), groups.join(QStringLiteral(", "))));
}

void AttentionNumbers::show_groups() {
  const SideWeights& side = session_->head().side(session_->side());
  groups_.set_mass(side.summary ? std::optional(side.summary->group_mass) : std::nullopt,
                   session_->side() == AttentionSide::difference);
}

void AttentionNumbers::received_changed() {
  side_->setCurrentIndex(static_cast<int>(session_->side()));
  show_groups();
  show_rows();
  const std::optional<Received>& received = session_->received();
  const std::vector<double> mass = received ? received->mass : std::vector<double>();
  profile_->show_mass(session_->groups(), mass);
  tokens_.set_mass(session_->dump(), mass);
}

void AttentionNumbers::set_marked(qint64 token) {
  profile_->set_marked(token);
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
  for (const TokenGroup from : groups_.groups()) {
    for (const TokenGroup to : groups_.groups()) {
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
  const std::optional<Received>& received = session_->received();
  if (!received) return grid;
  const DumpInfo& info = session_->dump()->info();
  for (std::size_t i = 0; i < info.tokens.size(); ++i) {
    grid.add({std::to_string(i), info.tokens[i], std::string(name_of(info.groups[i])),
              number_text(received->mass[i])});
  }
  return grid;
}

report::Sheet AttentionNumbers::grid_in_front() const {
  return token_table_->hasFocus() ? token_grid() : group_grid();
}

void AttentionNumbers::copy(const report::Sheet& grid, const QString& sentence) {
  QApplication::clipboard()->setText(clipboard_text(grid, report::TableFormat::text));
  Q_EMIT copied(sentence);
}

}  // namespace attnscope::gui
