// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/attention_page.h"

#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QHelpEvent>
#include <QLabel>
#include <QMouseEvent>
#include <QPainter>
#include <QSettings>
#include <QSplitter>
#include <QToolButton>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "app/drawing/chart_style.h"
#include "app/drawing/regions_drawing.h"
#include "app/gui/models/pattern_counts.h"
#include "app/gui/models/rows_model.h"
#include "app/gui/session/text.h"
#include "app/gui/views/attention_numbers.h"
#include "app/gui/views/attention_source.h"
#include "app/gui/views/fields.h"
#include "app/gui/views/figure_dialog.h"
#include "app/gui/views/file_dialogs.h"
#include "app/gui/views/page.h"
#include "app/gui/views/theme.h"
#include "attnscope/build_info.h"
#include "views/ui_attention_maps.h"

namespace attnscope::gui {

class RegionsView::Paper : public QWidget {
 public:
  Paper() { setMouseTracking(true); }

  void show_drawing(std::optional<charts::RegionsDrawing> drawing) {
    drawing_ = std::move(drawing);
    shown_.reset();
    update();
  }

 protected:
  void paintEvent(QPaintEvent* /*event*/) override {
    if (!drawing_) return;
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(space::around.left(), space::around.top());
    drawing_->paint(painter, shown_);
  }
  /// The region under the mouse is highlighted at once in strip and text; its description is a tool
  /// tip.
  void mouseMoveEvent(QMouseEvent* event) override {
    show_region(drawing_ ? drawing_->region_at(on_drawing(event->position())) : std::nullopt);
  }
  void leaveEvent(QEvent* /*event*/) override { show_region(std::nullopt); }
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip || !drawing_) return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const QString reported = drawing_->words_at(on_drawing(help->pos()));
    if (reported.isEmpty()) {
      QToolTip::hideText();
    } else {
      QToolTip::showText(help->globalPos(), reported, this);
    }
    return true;
  }

 private:
  static QPointF on_drawing(QPointF point) {
    return point - QPointF(space::around.left(), space::around.top());
  }
  void show_region(std::optional<std::int64_t> region) {
    if (std::exchange(shown_, region) != region) update();
  }
  std::optional<charts::RegionsDrawing> drawing_;
  std::optional<std::int64_t> shown_;
};

RegionsView::RegionsView(QWidget* parent) : QScrollArea(parent), paper_(new Paper) {
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setWidget(paper_);
  setWidgetResizable(false);
  setAccessibleName(tr("Regions of the document"));
}

void RegionsView::show_regions(RegionsPointer regions) {
  regions_ = std::move(regions);
  setAccessibleDescription(text());
  lay_out();
  ensureVisible(0, 0);
}

QString RegionsView::text() const {
  if (!regions_) return {};
  return qstring(regions_in_words(*regions_));
}

void RegionsView::lay_out() {
  if (!regions_) return paper_->show_drawing({});
  const double width =
      std::max(viewport()->width() - space::around.left() - space::around.right(), 100);
  charts::RegionsDrawing drawing(
      regions_,
      {.width = width, .em = charts::em_of(font()), .theme = charts::theme_of(palette())});
  paper_->resize(viewport()->width(), static_cast<int>(drawing.height()) + 1 + space::around.top() +
                                          space::around.bottom());
  QPalette ground = palette();
  ground.setColor(QPalette::Window, charts::colors_of(charts::theme_of(palette())).background);
  paper_->setPalette(ground);
  paper_->setAutoFillBackground(true);
  paper_->show_drawing(std::move(drawing));
}

void RegionsView::resizeEvent(QResizeEvent* event) {
  QScrollArea::resizeEvent(event);
  lay_out();
}

void RegionsView::changeEvent(QEvent* event) {
  QScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) lay_out();
}

namespace {

const auto log_key = QStringLiteral("attention/log");

/// The maps that an entry of the picker shows.
using Shown = std::array<bool, 3>;
constexpr Shown shown_entries[] = {
    {true, false, false}, {true, true, false}, {true, true, true}, {false, false, true}};
constexpr int side_by_side = 1;

constexpr std::int64_t figure_cells = 1024;  // per side: finer than 600 dpi on 42 mm

}  // namespace

AttentionPage::AttentionPage(QWidget* parent)
    : Page(parent),
      checkpoint_action_(add_action(this, tr("Open &checkpoint…"), QKeySequence(tr("Ctrl+K")),
                                    &AttentionPage::ask_for_checkpoint)),
      source_(new AttentionSource(&session_, checkpoint_action_)),
      numbers_(new AttentionNumbers(&session_)),
      middle_(new QWidget),
      regions_(new RegionsView),
      ui_(std::make_unique<Ui::AttentionMaps>()),
      messages_(new MessageBar(this)) {
  checkpoint_action_->setToolTip(
      tr("Compute the attention of a checkpoint in Hugging Face's layout (Ctrl+K)"));
  build_middle();
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(space::around);
  right_ = new SideArea(numbers_, tr("Numbers"));
  auto* either = new QWidget;
  auto* stacked = new QVBoxLayout(either);
  stacked->setContentsMargins({});
  stacked->addWidget(middle_);
  stacked->addWidget(regions_);
  layout->addWidget(with_sides("attention_columns",
                               new SideArea(source_, tr("Source, patterns and heads")), either,
                               right_, {240, 600, 270}));
  wire();
  ui_->log->setChecked(QSettings().value(log_key).toBool());
  show_maps();
  show_maps_or_regions();
}

AttentionPage::~AttentionPage() = default;

void AttentionPage::build_middle() {
  ui_->setupUi(middle_);
  maps_ = {ui_->map_a, ui_->map_b, ui_->map_difference};
  set_text(ui_->head_title, TextSize::title);
  new FlowLayout(ui_->bar);
  ui_->bars->setSpacing(space::margin);
  // Two lines are reserved, so that the map does not jump while the pointer moves over it.
  ui_->explanation->setMinimumHeight(2 * ui_->explanation->fontMetrics().lineSpacing());
  ui_->map_box->installEventFilter(this);
  // The maps handle the keys; with Ctrl, the keys change the text size.
  constexpr double step = 1.5, all = 0;
  const std::pair<QToolButton*, double> zooms[] = {
      {ui_->zoom_out, 1 / step}, {ui_->zoom_in, step}, {ui_->zoom_all, all}};
  for (const auto& [button, factor] : zooms) {
    connect(button, &QToolButton::clicked, this, [this, factor = factor] {
      for (const AttentionSide side : all_sides) {
        if (!is_shown(side)) continue;  // the others follow the first
        return factor > all ? map(side)->zoom_by(factor) : map(side)->show_all();
      }
    });
  }
}

// Chooses the number of columns that makes the maps largest.
void AttentionPage::arrange_maps() {
  std::vector<charts::HeatView*> shown;
  for (const AttentionSide side : all_sides) {
    if (is_shown(side)) shown.push_back(map(side));
  }
  const auto count = static_cast<int>(shown.size());
  int columns = 1;
  const auto side_of = [&](int in_a_row) {
    const int rows = (count + in_a_row - 1) / in_a_row;
    return std::min(ui_->map_box->width() / in_a_row, ui_->map_box->height() / rows);
  };
  for (int more = 2; more <= count; ++more) {
    if (side_of(more) > side_of(columns)) columns = more;
  }
  for (charts::HeatView* view : maps_) ui_->map_grid->removeWidget(view);
  for (int i = 0; i < count; ++i) {
    ui_->map_grid->addWidget(shown[static_cast<std::size_t>(i)], i / columns, i % columns);
  }
}

bool AttentionPage::eventFilter(QObject* watched, QEvent* event) {
  if (watched == ui_->map_box && event->type() == QEvent::Resize) arrange_maps();
  return Page::eventFilter(watched, event);
}

QList<Page::PageActions> AttentionPage::page_actions() const {
  return {{tr("On page Attention"), actions()}};
}

void AttentionPage::ask_for_checkpoint() {
  auto* dialog = new CheckpointDialog(this);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &CheckpointDialog::written, this,
          [this](const QString& file, const QVariantMap& alongside) {
            session_.open(file);
            if (!alongside.value(QStringLiteral("title")).toString().isEmpty())
              source_->second()->restore(alongside);
          });
  dialog->open();
}

void AttentionPage::wire() {
  connect(&session_, &AttentionSession::opened, this, &AttentionPage::dump_opened);
  connect(&session_, &AttentionSession::regions_opened, this, &AttentionPage::regions_opened);
  connect(&session_, &AttentionSession::head_changed, this, &AttentionPage::head_changed);
  connect(&session_, &AttentionSession::received_changed, this, [this] {
    for (charts::HeatView* view : maps_) view->set_chosen_rows(session_.rows());
  });
  connect(&session_, &AttentionSession::opening, this, [this](const QString& name) {
    opened_something_ = true;
    messages_->clear();
    if (!session_.dump()) map(AttentionSide::a)->show_message(tr("Opening %1.").arg(name));
  });
  connect(&session_, &AttentionSession::open_failed, this, &AttentionPage::open_failed);
  connect(&session_, &AttentionSession::head_failed, this, [this](const QString& sentence) {
    for (const AttentionSide side : all_sides) {
      if (!session_.head().side(side).weights) map(side)->show_message(sentence);
    }
  });
  connect(source_, &AttentionSource::failed, messages_,
          [this](const QString& sentence) { messages_->show_error(sentence); });
  connect(source_->second(), &PatternPicker::changed, this, &AttentionPage::show_maps);
  connect(numbers_, &AttentionNumbers::copied, this, &Page::succeeded);
  connect(numbers_, &AttentionNumbers::copied, messages_, &MessageBar::show_info);
  connect(numbers_, &AttentionNumbers::hovered, this, [this](qint64 token) { hovered(-1, token); });
  connect(numbers_, &AttentionNumbers::attended_changed, this, &AttentionPage::scale_maps);
  for (charts::HeatView* view : maps_) {
    connect(view, &charts::HeatView::hovered, this, &AttentionPage::hovered);
    connect(view, &charts::HeatView::pinned, this, &AttentionPage::pinned);
    connect(view, &charts::HeatView::rows_chosen, this,
            [this](TokenRange rows) { session_.choose_rows({rows}); });
    connect(view, &charts::HeatView::focus_moved, this, [this](const charts::MapFocus& focus) {
      for (charts::HeatView* other : maps_) other->set_focus(focus);
    });
  }
  connect(ui_->shown, &QComboBox::currentIndexChanged, this, &AttentionPage::show_maps);
  connect(ui_->log, &QCheckBox::toggled, this, [this](bool log) {
    QSettings().setValue(log_key, log);
    scale_maps();
    numbers_->set_logarithmic(log);
  });
}

void AttentionPage::showEvent(QShowEvent* event) {
  Page::showEvent(event);
  if (!opened_something_) open_first();
}

void AttentionPage::open_first() {
  const QString file = kept_.value(QStringLiteral("file")).toString();
  if (!file.isEmpty() && QFileInfo::exists(file)) return session_.open(file);
  if (!file.isEmpty()) kept_.clear();  // for a dump that is gone
  session_.open_example();
}

// Falls back to the kept dump, or the example.
void AttentionPage::open_failed(const QString& sentence, const QString& file) {
  if (!session_.dump()) {
    if (file == kept_.value(QStringLiteral("file")).toString()) kept_.clear();
    map(AttentionSide::a)
        ->show_message(tr("No dump is open. Open one on the left, or the example."));
    if (!file.isEmpty()) open_first();
  }
  messages_->show_error(sentence);
}

QVariantMap AttentionPage::chosen() const {
  if (session_.regions()) return {{QStringLiteral("file"), session_.file()}};
  if (!session_.dump()) return kept_;
  return {{QStringLiteral("file"), session_.file()},
          {QStringLiteral("layer"), session_.head().layer},
          {QStringLiteral("head"), session_.head().head},
          {QStringLiteral("a"), source_->first()->chosen()},
          {QStringLiteral("b"), source_->second()->chosen()},
          {QStringLiteral("maps"), ui_->shown->currentIndex()}};
}

void AttentionPage::restore(const QVariantMap& chosen) {
  kept_ = chosen;
  source_->first()->restore(chosen.value(QStringLiteral("a")).toMap());
  source_->second()->restore(chosen.value(QStringLiteral("b")).toMap());
  ui_->shown->setCurrentIndex(
      chosen.value(QStringLiteral("maps"), ui_->shown->currentIndex()).toInt());
}

void AttentionPage::show_maps_or_regions() {
  const bool of_document = session_.regions() != nullptr;
  middle_->setVisible(!of_document);
  right_->setVisible(!of_document);
  regions_->setVisible(of_document);
}

void AttentionPage::regions_opened() {
  regions_->show_regions(session_.regions());
  show_maps_or_regions();
  remember_file(session_.file(), FileKind::dump);
  Q_EMIT offers_changed();
}

void AttentionPage::dump_opened() {
  show_maps_or_regions();
  const DumpPointer& dump = session_.dump();
  for (charts::HeatView* view : maps_) view->set_token_texts({dump, &dump->info().tokens});
  hovered(-1, -1);
  const QVariantMap kept = std::exchange(kept_, {});
  const int layer = kept.value(QStringLiteral("layer"), -1).toInt();
  const int head = kept.value(QStringLiteral("head"), -1).toInt();
  const bool is_there = source_->heads()->model()->hasIndex(layer, head);
  const bool is_kept = kept.value(QStringLiteral("file")).toString() == session_.file();
  if (is_there && is_kept) session_.choose_head(layer, head);
  if (!is_kept && !session_.file().isEmpty()) remember_file(session_.file(), FileKind::dump);
  Q_EMIT offers_changed();
}

bool AttentionPage::is_shown(AttentionSide side) const {
  const int entry = source_->second()->choice() ? std::max(0, ui_->shown->currentIndex()) : 0;
  return shown_entries[entry][static_cast<std::size_t>(side)];
}

void AttentionPage::show_maps() {
  const bool second = source_->second()->choice().has_value();
  if (second && !ui_->shown->isVisibleTo(this) && ui_->shown->currentIndex() == 0) {
    const QSignalBlocker quiet(ui_->shown);
    ui_->shown->setCurrentIndex(side_by_side);
  }
  ui_->shown->setVisible(second);
  for (const AttentionSide side : all_sides) map(side)->setVisible(is_shown(side));
  ui_->weight_bar->setVisible(is_shown(AttentionSide::a) || is_shown(AttentionSide::b));
  ui_->difference_bar->setVisible(is_shown(AttentionSide::difference));
  arrange_maps();
  Q_EMIT offers_changed();
}

void AttentionPage::head_changed() {
  const HeadUnderPatterns& head = session_.head();
  if (!session_.dump()) return;
  QString name = head_text();
  name[0] = name[0].toUpper();
  ui_->head_title->setText(name);
  scale_maps();
  for (const AttentionSide side : all_sides) {
    const auto pattern = session_.pattern(side);
    map(side)->set_title(side == AttentionSide::difference || !pattern
                             ? side_name(side)
                             : QStringLiteral("%1: %2").arg(side_name(side), pattern->title()));
    const SideWeights& weights = head.side(side);
    if (weights.weights) {
      map(side)->show_weights(weights.weights, weights.summary, session_.groups());
      map(side)->set_focus(map(AttentionSide::a)->focus());
    } else {
      map(side)->show_message(tr("Computing the weights."));
    }
    map(side)->set_chosen_rows(session_.rows());
  }
  Q_EMIT offers_changed();
}

// A and B have a common colour scale, for comparison. The attended tokens determine it.
void AttentionPage::scale_maps() {
  double largest = 0;
  double changed = 0;
  for (const AttentionSide side : all_sides) {
    const auto& summary = session_.head().side(side).summary;
    if (!summary) continue;
    double& most = side == AttentionSide::difference ? changed : largest;
    most = std::max(most, largest_of(summary->map));
  }
  for (const AttentionSide side : all_sides) {
    const bool difference = side == AttentionSide::difference;
    charts::HeatScale scale{.logarithmic = ui_->log->isChecked(), .difference = difference};
    if (const double most = difference ? changed : largest; most > 0) scale.largest = most;
    map(side)->set_scale(scale);
    (difference ? ui_->difference_bar : ui_->weight_bar)->set_scale(scale);
  }
}

double AttentionPage::largest_of(const PooledMap& map) const {
  const std::optional<TokenGroup> group = numbers_->attended_group();
  if (!group) return static_cast<double>(map.largest());
  float largest = 0;
  for (std::int64_t x = 0; x < map.region().width; ++x) {
    const TokenRange tokens = map.columns_of(x);
    const auto begin = session_.groups()->begin();
    if (std::find(begin + tokens.begin, begin + tokens.end, *group) == begin + tokens.end) continue;
    for (std::int64_t y = 0; y < map.region().height; ++y) {
      const float weight = std::abs(map.cell(y, x));
      if (weight > largest) largest = weight;  // false for NaN: no allowed pair
    }
  }
  return static_cast<double>(largest);
}

// Pins one pair in all maps, and shows its row's mass.
void AttentionPage::pinned(qint64 query, qint64 key) {
  for (charts::HeatView* view : maps_) {
    const QSignalBlocker quiet(view);
    view->pin(query, key);
  }
  session_.choose_rows(query < 0 ? std::vector<TokenRange>()
                                 : std::vector{TokenRange{query, query + 1}});
  hovered(-1, -1);
}

void AttentionPage::hovered(qint64 query, qint64 key) {
  numbers_->set_marked(key);
  if (const auto pair = map(AttentionSide::a)->pinned_pair(); pair && query < 0 && key < 0) {
    std::tie(query, key) = *pair;
  }
  for (charts::HeatView* view : maps_) view->set_marked(key);
  if (!session_.dump()) return ui_->explanation->clear();
  const DumpInfo& info = session_.dump()->info();
  const auto token = [&](qint64 at) {
    return QStringLiteral("%1 “%2”").arg(at).arg(
        qstring(info.tokens[static_cast<std::size_t>(at)]));
  };
  if (query >= 0 && key >= 0) {
    ui_->explanation->setText(tr("Token %1 attends to token %2: %3")
                                  .arg(token(query), token(key), weights_of(query, key)));
  } else if (key >= 0 && session_.received()) {
    ui_->explanation->setText(
        tr("Token %1 receives %2 of an average selected row")
            .arg(token(key), share_text(session_.received()->mass[static_cast<std::size_t>(key)])));
  } else {
    ui_->explanation->setText(
        tr("Rows attend to columns. Click a pair to pin it, drag along the margin to select rows, "
           "turn the wheel to zoom."));
  }
}

QString AttentionPage::weights_of(qint64 query, qint64 key) const {
  QStringList weights;
  for (const AttentionSide side : all_sides) {
    const auto& rows = session_.head().side(side).weights;
    if (!rows || !is_shown(side)) continue;
    RowWeights row;
    rows->row(query, row);
    const bool allowed = std::ranges::any_of(
        row.keys, [&](const TokenRange& keys) { return key >= keys.begin && key < keys.end; });
    const QString value =
        allowed ? share_text(static_cast<double>(row.weights[static_cast<std::size_t>(key)]))
                : tr("not allowed");
    weights.append(session_.pattern(AttentionSide::b) ? side_name(side) + QLatin1Char(' ') + value
                                                      : value);
  }
  if (const auto& scores = session_.head().side(AttentionSide::a).weights) {
    weights.append(tr("score %1").arg(QString::number(scores->score(query, key), 'f', 2)));
  }
  return weights.join(QStringLiteral(", "));
}

void AttentionPage::ask_for_dump() {
  source_->ask_for_dump();
}

bool AttentionPage::has_table() const {
  if (session_.regions()) return false;
  return session_.head().side(AttentionSide::a).summary != nullptr;
}

void AttentionPage::copy_table(report::TableFormat format) {
  report::Sheet grid = numbers_->grid_in_front();
  grid.below = {caption().toStdString()};
  QApplication::clipboard()->setText(clipboard_text(grid, format));
}

QString AttentionPage::caption() const {
  if (!session_.dump()) return {};
  const DumpInfo& info = session_.dump()->info();
  QStringList parts{tr("Attention weights of %1, %2, on %3.")
                        .arg(qstring(info.model), head_text(),
                             counted(info.layout.tokens(), tr("token"), tr("tokens")))};
  if (!info.note.empty()) parts.append(qstring(info.note));
  for (const AttentionSide side : {AttentionSide::a, AttentionSide::b}) {
    if (const auto pattern = session_.pattern(side)) {
      parts.append(QStringLiteral("%1: %2.").arg(side_name(side), pattern->title()));
    }
  }
  parts.append(
      tr("Rows attend to columns; where pairs share a pixel, the largest weight is shown."));
  parts.append(
      QStringLiteral("AttnScope %1, commit %2.")
          .arg(QLatin1String(ATTNSCOPE_VERSION), QLatin1String(ATTNSCOPE_GIT_COMMIT).left(12)));
  return parts.join(QLatin1Char(' '));
}

charts::HeatFigure AttentionPage::figure() const {
  charts::HeatFigure figure;
  for (const AttentionSide side : all_sides) {
    const auto& summary = session_.head().side(side).summary;
    if (!is_shown(side) || !summary) continue;
    MapRegion seen = map(side)->seen();
    seen.height = std::min(seen.height, figure_cells);
    seen.width = std::min(seen.width, figure_cells);
    figure.panels.push_back({map(side)->title(), summary->map.pooled(seen), map(side)->scale()});
  }
  if (session_.groups()) figure.groups = *session_.groups();
  if (session_.dump()) figure.tokens = session_.dump()->info().tokens;
  figure.title = tr("Attention weights, %1").arg(head_text()).toStdString();
  figure.provenance = caption().toStdString();
  figure.numbers = write_sheet(numbers_->group_grid(), report::TableFormat::csv);
  return figure;
}

QString AttentionPage::head_text() const {
  const HeadUnderPatterns& head = session_.head();
  return source_->heads()->name_of(head.layer, head.head);
}

void AttentionPage::export_figure() {
  if (!has_figure()) return;
  QString stem = QStringLiteral("attention-") + head_text();
  stem.remove(QLatin1Char(',')).replace(QLatin1Char(' '), QLatin1Char('-'));
  if (session_.regions()) stem = QStringLiteral("regions");
  charts::Printable what =
      session_.regions() ? charts::printable(*session_.regions()) : charts::printable(figure());
  what.inputs = {session_.file().toStdString()};
  auto* dialog = new FigureDialog(std::move(what), {}, stem, this);
  connect(dialog, &FigureDialog::written, this, [this](const QString& sentence) {
    messages_->show_info(sentence);
    Q_EMIT succeeded(sentence);
  });
  dialog->open();
}

QString AttentionPage::run_text() const {
  return session_.regions() ? tr("New run…") : tr("New run with this dump…");
}

// Runs the dump's own problem, under its patterns.
void AttentionPage::run() {
  if (!session_.dump() || session_.regions()) {
    Q_EMIT run_requested({});
    return;
  }
  const DumpInfo& info = session_.dump()->info();
  SweepRequest request{.name = "attention-dump",
                       .sources = {},
                       .item = info.layout.item(0),
                       .heads = info.heads,
                       .head_dim = static_cast<int>(info.head_dim),
                       .implementations = {QStringLiteral("segment"), QStringLiteral("sdpa-mask")},
                       .other_lengths = false};
  for (const AttentionSide side : {AttentionSide::a, AttentionSide::b}) {
    if (const auto choice = session_.pattern(side)) {
      request.sources.push_back({choice->pattern, choice->window});
    }
  }
  const Result<QString> sweep = sweep_of(request);
  if (!sweep) return messages_->show_error(qstring(sweep.error().message));
  Q_EMIT run_requested(*sweep);
}

}  // namespace attnscope::gui
