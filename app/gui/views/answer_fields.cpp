// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/answer_fields.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QLineEdit>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>
#include <QSettings>
#include <QSignalBlocker>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QUrl>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/gui/session/text.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/theme.h"
#include "base/sentences.h"
#include "engine/report/row.h"
#include "views/ui_answer_fields.h"

namespace attnscope::gui {

namespace {

constexpr std::int64_t most_candidates = 1'000'000'000;
constexpr double largest_limit = 1e12;
constexpr double bytes_per_mb = 1e6, ns_per_ms = 1e6;

std::string quoted(const QString& text) {
  return in_a_sentence(text.toStdString());
}

/// Whether the text is meant as numbers, valid or not.
bool is_of_numbers(const QString& text) {
  return std::all_of(text.begin(), text.end(), [](QChar letter) {
    return letter.isDigit() || letter.isSpace() || QStringLiteral(",;.+-xX").contains(letter);
  });
}

/// Lengths, or the file that contains them: any text with characters other than digits, separators
/// and "x".
Status read_documents(const QString& text, RequestedQuestion& into) {
  if (text.isEmpty()) {
    return fail(
        "Enter a length such as 512, several such as 300, 200, 4x100, or a file of lengths.");
  }
  if (!is_of_numbers(text)) {
    const QUrl url(text);  // a dropped file
    into.lengths_file = url.isLocalFile() ? url.toLocalFile() : text;
    return {};
  }
  Result<std::vector<std::int64_t>> lengths = parse_lengths(text);
  if (!lengths) return tl::unexpected(lengths.error());
  if (std::ranges::any_of(*lengths, [](std::int64_t tokens) { return tokens < 1; })) {
    return fail("A document has at least one token; remove the 0.");
  }
  into.question.documents = report::DocumentLengths(std::move(*lengths));
  return {};
}

Status read_query_tokens(const QString& text, RequestedQuestion& into) {
  if (text.isEmpty()) return {};
  bool is_number = false;
  const qlonglong tokens = text.toLongLong(&is_number);
  if (!is_number || tokens < 0 || tokens > report::longest_document) {
    return fail(
        "\"{}\" is not a number of tokens; enter a number from 0 to {}, or leave the field empty.",
        quoted(text), report::longest_document);
  }
  into.question.query_tokens = tokens;
  return {};
}

Status read_candidates(const QString& text, RequestedQuestion& into) {
  bool is_number = false;
  const qlonglong count = text.toLongLong(&is_number);
  if (!is_number || count < 1 || count > most_candidates) {
    return fail("\"{}\" is not a number of documents; enter a number from 1 to {}.", quoted(text),
                most_candidates);
  }
  into.question.candidates = count;
  return {};
}

/// Reads a limit into that part of the question, times `unit`; empty: no limit. `example` shows the
/// format.
auto limit_reader(std::optional<double> report::Question::*part, double unit, const char* example) {
  return [part, unit, example](const QString& text, RequestedQuestion& into) -> Status {
    if (text.isEmpty()) return {};
    bool is_number = false;
    const double limit = text.toDouble(&is_number);
    if (!is_number || !std::isfinite(limit) || limit <= 0 || limit > largest_limit) {
      return fail(
          "\"{}\" is not a limit; enter a number above 0, such as {}, or leave the field empty.",
          quoted(text), example);
    }
    into.question.*part = limit * unit;
    return {};
  };
}

QString setting_of(const QLineEdit* edit) {
  return QStringLiteral("answer/") + edit->objectName();
}

}  // namespace

AnswerFields::AnswerFields(QWidget* parent)
    : QWidget(parent), ui_(std::make_unique<Ui::AnswerFields>()) {
  ui_->setupUi(this);
  ui_->candidates->setToolTip(explained("candidates"));
  explain_fields(*this);
  bind(ui_->query_tokens, 13, ui_->query_tokens_problem, read_query_tokens);
  bind(ui_->document_tokens, 18, ui_->document_tokens_problem, read_documents);
  bind(ui_->candidates, 6, ui_->candidates_problem, read_candidates);
  bind(ui_->memory_mb, 8, ui_->memory_mb_problem,
       limit_reader(&report::Question::memory_bytes, bytes_per_mb, "500 for 500 MB"));
  bind(ui_->latency_ms, 8, ui_->latency_ms_problem,
       limit_reader(&report::Question::latency_ns, ns_per_ms, "200 for 200 ms"));
  keep_choice(*ui_->lengths_of);
  connect(ui_->lengths_of, &QComboBox::activated, this, [this] {
    check();
    Q_EMIT changed();
  });
  connect(ui_->lengths_file, &QToolButton::clicked, this, &AnswerFields::file_wanted);
  // A long list is shown from its beginning.
  connect(documents(), &QLineEdit::editingFinished, documents(),
          [edit = documents()] { edit->home(false); });
  check();
}

AnswerFields::~AnswerFields() = default;

void AnswerFields::bind(QLineEdit* edit, int characters, ProblemLabel* problem, Reader read) {
  edit->setMinimumWidth(characters * fontMetrics().averageCharWidth() + 8);
  edit->setText(QSettings().value(setting_of(edit), edit->text()).toString());
  connect(edit, &QLineEdit::textChanged, this, [this, edit] {
    QSettings().setValue(setting_of(edit), edit->text());
    check();
    Q_EMIT changed();
  });
  fields_.push_back({edit, problem, std::move(read)});
}

void AnswerFields::begin_with(const report::Row& row) {
  const HeatPoint& point = row.cell.point;
  const bool of_sequences = ui_->lengths_of->currentIndex() == 1;
  const std::int64_t tokens = of_sequences
                                  ? point.sequence_tokens
                                  : report::document_of(point, point.query_tokens,
                                                        static_cast<double>(point.sequence_tokens));
  const std::pair<QLineEdit*, std::int64_t> measured[] = {
      {documents(), tokens},
      {ui_->candidates, static_cast<std::int64_t>(report::documents_of(row))}};
  for (const auto& [edit, number] : measured) {
    if (number < 1 || QSettings().contains(setting_of(edit))) continue;
    const QSignalBlocker quiet(edit);  // values that the user did not type are not stored
    edit->setText(QString::number(number));
  }
  check();
}

QString AnswerFields::problem() const {
  for (const Field& field : fields_) {
    if (!field.problem->isHidden()) return field.problem->text();
  }
  return {};
}

void AnswerFields::check() {
  RequestedQuestion requested;
  requested.question.of_sequences = ui_->lengths_of->currentIndex() == 1;
  bool is_complete = true;
  for (const Field& field : fields_) {
    const Status status = field.read(field.edit->text().trimmed(), requested);
    field.problem->set_problem(status ? QString() : qstring(status.error().message));
    is_complete = is_complete && status.has_value();
  }
  requested_ = is_complete ? std::optional(std::move(requested)) : std::nullopt;
}

QLineEdit* AnswerFields::documents() const {
  return ui_->document_tokens;
}

void AnswerFields::set_file_problem(const QString& sentence) {
  if (requested_ && !requested_->lengths_file.isEmpty())
    ui_->document_tokens_problem->set_problem(sentence);
}

namespace {

using report::Advised;
using report::Standing;

constexpr int row_pad = 5, bar_width = 3;

QString remarks_on(const Advised& advised, QChar between) {
  QStringList remarks;
  for (const std::string& remark : advised.remarks) remarks.append(qstring(remark));
  return remarks.join(between);
}

QColor bar_color(const Advised& advised, const QPalette& palette) {
  if (advised.standing != Standing::within_limits || !advised.to_baseline || advised.is_baseline)
    return hairline(palette);
  switch (advised.to_baseline->verdict) {
    case statistics::Verdict::faster:
      return good_text(palette);
    case statistics::Verdict::slower:
      return error_text(palette);
    case statistics::Verdict::no_difference_shown:
      break;
  }
  return hairline(palette);
}

}  // namespace

class AnswerList::Rows : public QAbstractListModel {
 public:
  using QAbstractListModel::QAbstractListModel;

  void set_advice(std::optional<report::Advice> advice) {
    beginResetModel();
    advice_ = std::move(advice);
    leading_ = advice_ ? report::headline_of(*advice_).sentences().size() : 0;
    endResetModel();
  }
  /// The verdict, the first of the notes, is above all rows.
  [[nodiscard]] bool is_leading(const QModelIndex& index) const {
    return static_cast<std::size_t>(index.row()) < leading_;
  }
  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override {
    if (parent.isValid() || !advice_) return 0;
    return static_cast<int>(advice_->contenders.size() + advice_->notes.size());
  }
  /// Null: the row is a note on all of them, or does not exist.
  [[nodiscard]] const Advised* contender(const QModelIndex& index) const {
    if (!index.isValid() || !advice_ || is_leading(index)) return nullptr;
    const auto row = static_cast<std::size_t>(index.row()) - leading_;
    return row < advice_->contenders.size() ? &advice_->contenders[row] : nullptr;
  }
  /// Place of a contender within the limits, which come first; otherwise empty.
  [[nodiscard]] QString place(const QModelIndex& index) const {
    const Advised* advised = contender(index);
    const bool has_place = advised != nullptr && advised->standing == Standing::within_limits;
    return has_place ? QStringLiteral("%1.").arg(advised - advice_->contenders.data() + 1)
                     : QString();
  }
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
    const Advised* advised = contender(index);
    if (advised == nullptr) {
      const std::size_t before = is_leading(index) ? 0 : advice_->contenders.size();
      const auto note = static_cast<std::size_t>(index.row()) - before;
      return role == Qt::DisplayRole ? qstring(advice_->notes[note]) : QVariant();
    }
    switch (role) {
      case Qt::DisplayRole:
        return qstring(advised->sentence);
      case Qt::ToolTipRole:
        return remarks_on(*advised, QLatin1Char('\n'));
      case Qt::AccessibleTextRole:
        return QStringLiteral("%1 %2").arg(place(index), qstring(advised->sentence)).trimmed();
      case Qt::AccessibleDescriptionRole:
        return remarks_on(*advised, QLatin1Char(' '));
      default:
        return {};
    }
  }
  [[nodiscard]] QModelIndex index_of(const std::string& contender) const {
    if (!advice_) return {};
    const auto found = std::ranges::find(advice_->contenders, contender, &Advised::contender);
    if (found == advice_->contenders.end()) return {};
    return index(static_cast<int>(found - advice_->contenders.begin()) +
                 static_cast<int>(leading_));
  }

 private:
  std::optional<report::Advice> advice_;
  std::size_t leading_ = 0;  // rows before the contenders
};

/// The current row has its remarks below it.
class AnswerList::Delegate : public QStyledItemDelegate {
 public:
  explicit Delegate(AnswerList* list) : QStyledItemDelegate(list), list_(*list) {}
  void set_contenders(const std::vector<std::string>& ids) {
    styles_ = charts::ContenderStyles(ids);
  }

  [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                               const QModelIndex& index) const override {
    const double room = room_of(option, index);
    double height =
        charts::size_of_lines(option.font, unbroken(index.data().toString()), room).height();
    if (const QString more = opened(index); !more.isEmpty())
      height += row_pad + charts::size_of_lines(option.font, more, room).height();
    return {row_width(), static_cast<int>(std::ceil(height)) + 2 * row_pad};
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const QPalette& palette = option.palette;
    const QRectF row(option.rect);
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    if (index == list_.currentIndex()) painter->fillRect(row, info_ground(palette));
    if (option.state.testFlag(QStyle::State_HasFocus)) {
      painter->setPen(palette.color(QPalette::Link));
      painter->setBrush(Qt::NoBrush);
      painter->drawRect(row.adjusted(0.5, 0.5, -0.5, -0.5));
    }
    const Advised* advised = list_.rows_->contender(index);
    const double top = row.top() + row_pad;
    if (advised != nullptr) paint_head(*painter, option, index, *advised);
    const QString sentence = unbroken(index.data().toString());
    const double start = row.left() + indent(option.font, index), room = room_of(option, index);
    const double height = charts::size_of_lines(option.font, sentence, room).height();
    const bool is_note = advised == nullptr && !list_.rows_->is_leading(index);
    painter->setPen(is_note ? faint_text(palette) : palette.color(QPalette::Text));
    charts::draw_lines(*painter, option.font, QRectF(start, top, room, height), sentence);
    painter->setPen(faint_text(palette));
    charts::draw_lines(*painter, option.font,
                       QRectF(start, top + height + row_pad, room, row.bottom()), opened(index));
    painter->restore();
  }

 private:
  static double place_width(const QFont& font) {
    return QFontMetricsF(font).horizontalAdvance(QStringLiteral("00."));
  }
  /// Distance from the row's left edge to its text.
  [[nodiscard]] double indent(const QFont& font, const QModelIndex& index) const {
    const double left = bar_width + 2 * row_pad;
    if (list_.rows_->contender(index) == nullptr) return left;
    return left + place_width(font) + row_pad + (charts::sample_width + 0.5) * charts::em_of(font);
  }
  /// Includes the scroll bar's width, so that lines break at the same places with and without it.
  [[nodiscard]] int row_width() const {
    return list_.width() - 2 * list_.frameWidth() - list_.verticalScrollBar()->sizeHint().width();
  }
  [[nodiscard]] double room_of(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    return std::max(1.0, row_width() - indent(option.font, index) - row_pad);
  }
  [[nodiscard]] QString opened(const QModelIndex& index) const {
    const Advised* advised = list_.rows_->contender(index);
    return advised != nullptr && index == list_.currentIndex()
               ? remarks_on(*advised, QLatin1Char('\n'))
               : QString();
  }
  void paint_head(QPainter& painter, const QStyleOptionViewItem& option, const QModelIndex& index,
                  const Advised& advised) const {
    const QRectF row(option.rect);
    const QFontMetricsF metrics(option.font);
    const double top = row.top() + row_pad, left = row.left() + bar_width + 2 * row_pad;
    painter.fillRect(QRectF(row.left() + row_pad, top, bar_width, row.height() - 2 * row_pad),
                     bar_color(advised, option.palette));
    const QString place = list_.rows_->place(index);
    const double width = place_width(option.font);
    painter.setPen(option.palette.color(QPalette::Text));
    painter.setFont(option.font);
    painter.drawText(QRectF(left, top, width, metrics.height()), Qt::AlignRight | Qt::AlignVCenter,
                     place.isEmpty() ? QStringLiteral("–") : place);
    charts::draw_sample(painter, styles_.style(advised.contender), charts::theme_of(option.palette),
                        QPointF(left + width + row_pad, top + metrics.height() / 2),
                        charts::em_of(option.font), option.palette.color(QPalette::Base));
  }

  AnswerList& list_;
  mutable charts::ContenderStyles styles_;
};

AnswerList::AnswerList(QWidget* parent)
    : QListView(parent), rows_(new Rows(this)), delegate_(new Delegate(this)) {
  setObjectName(QStringLiteral("answer_list"));
  setAccessibleName(tr("Contenders, the best first"));
  setModel(rows_);
  setItemDelegate(delegate_);
  setEditTriggers(QAbstractItemView::NoEditTriggers);
  setSelectionMode(QAbstractItemView::SingleSelection);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  auto* copy = new QAction(tr("Copy this contender"), this);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  connect(copy, &QAction::triggered, this, &AnswerList::copy_current);
  addAction(copy);
  setContextMenuPolicy(Qt::ActionsContextMenu);
}

void AnswerList::set_contenders(const std::vector<std::string>& ids) {
  delegate_->set_contenders(ids);
}

void AnswerList::show_advice(std::optional<report::Advice> advice) {
  const Advised* before = rows_->contender(currentIndex());
  const std::string open = before == nullptr ? std::string() : before->contender;
  const int scrolled = verticalScrollBar()->value();
  rows_->set_advice(std::move(advice));
  const QModelIndex again = open.empty() ? QModelIndex() : rows_->index_of(open);
  if (again.isValid()) setCurrentIndex(again);
  // While a run continues, the scroll position is kept.
  QMetaObject::invokeMethod(
      this, [this, scrolled] { verticalScrollBar()->setValue(scrolled); }, Qt::QueuedConnection);
}

QSize AnswerList::sizeHint() const {
  const QFontMetrics metrics(font());
  return {60 * metrics.averageCharWidth(), minimumSizeHint().height()};
}

QSize AnswerList::minimumSizeHint() const {
  const QFontMetrics metrics(font());
  constexpr int least_rows = 4;
  return {30 * metrics.averageCharWidth(),
          least_rows * (metrics.height() + 2 * row_pad) + 2 * frameWidth()};
}

// Recomputes the line breaks, also in a hidden tab: Qt lays out a list again only when its number
// of rows changes.
void AnswerList::resizeEvent(QResizeEvent* event) {
  QListView::resizeEvent(event);
  if (event->size().width() != event->oldSize().width()) scheduleDelayedItemsLayout();
}

void AnswerList::currentChanged(const QModelIndex& current, const QModelIndex& previous) {
  QListView::currentChanged(current, previous);
  scheduleDelayedItemsLayout();  // one row closes and another opens
  if (!current.isValid()) return;
  // After the rows have been laid out with their new heights.
  QMetaObject::invokeMethod(
      this, [this] { scrollTo(currentIndex()); }, Qt::QueuedConnection);
}

void AnswerList::copy_current() {
  const Advised* advised = rows_->contender(currentIndex());
  if (!currentIndex().isValid()) return;
  QString text = currentIndex().data(Qt::DisplayRole).toString() + QLatin1Char('\n');
  if (advised != nullptr) {
    text = currentIndex().data(Qt::AccessibleTextRole).toString() + QLatin1Char('\n');
    for (const std::string& remark : advised->remarks) text += qstring(remark) + QLatin1Char('\n');
  }
  QApplication::clipboard()->setText(text);
  Q_EMIT copied();
}

}  // namespace attnscope::gui
