// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/map_view.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "app/drawing/chart_style.h"

namespace attnscope::charts {
namespace {

constexpr qint64 large_step = 10;                      // tokens, with Shift
constexpr double most_em = 4;                          // of a token at the largest zoom
constexpr double pan_share = 1 / 8.0;                  // of the map's side
constexpr double press_zoom = 1.5, notch_zoom = 1.25;  // of a key, of the wheel

/// Direction (right, down) of an arrow key; nothing for other keys.
std::optional<QPoint> direction_of(int key) {
  switch (key) {
    case Qt::Key_Left:
      return QPoint(-1, 0);
    case Qt::Key_Right:
      return QPoint(1, 0);
    case Qt::Key_Up:
      return QPoint(0, -1);
    case Qt::Key_Down:
      return QPoint(0, 1);
    default:
      return std::nullopt;
  }
}

}  // namespace

MapView::MapView(const QString& name, QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(name);
}

bool MapView::is_pair(Pair pair) const {
  if (!has_map() || pair.first < 0 || pair.second < 0) return false;
  const qint64 tokens = square().axis.tokens();
  return pair.first < tokens && pair.second < tokens;
}

std::optional<MapView::Pair> MapView::pair_at(QPointF position) const {
  return has_map() ? square().pair_at(position) : std::nullopt;
}

QPointF MapView::position_of(qint64 row, qint64 column) const {
  return has_map() ? square().cell(row, column).center() : QPointF();
}

void MapView::hover(std::optional<Pair> pair) {
  if (pair == hovered_) return;
  hovered_ = pair;
  setToolTip(pair ? explain_pair(*pair) : QString());
  update();
  Q_EMIT hovered(pair ? pair->first : -1, pair ? pair->second : -1);
}

void MapView::keep_valid_pairs() {
  hover(std::nullopt);
  if (pinned_ && !is_pair(*pinned_)) pin(-1, -1);
}

void MapView::show_sentence(const QString& sentence) {
  message_ = sentence;
  setAccessibleDescription(sentence);
  hover(std::nullopt);
  update();
}

void MapView::pin(qint64 row, qint64 column) {
  std::optional<Pair> pair;
  if (is_pair({row, column})) pair = {row, column};
  if (pair == pinned_) return;
  pinned_ = pair;
  if (pair) scroll_to_pair(*pair);
  describe();
  update();
  Q_EMIT pinned(pair ? pair->first : -1, pair ? pair->second : -1);
}

void MapView::scroll_to_pair(Pair pair) {
  if (focus_.tokens <= 0 || square().rect.contains(position_of(pair.first, pair.second))) return;
  zoom_to(square().axis.blocks().front().units_per_token, pair.first, pair.second);
  Q_EMIT focus_moved(focus_);
}

void MapView::set_focus(const MapFocus& focus) {
  if (!can_zoom() || focus == focus_) return;
  focus_ = focus;
  invalidate();
}

void MapView::move_to(const MapFocus& focus) {
  set_focus(focus);
  Q_EMIT focus_moved(focus_);
}

void MapView::show_all() {
  if (can_zoom()) move_to({});
}

void MapView::zoom_about(QPointF position, double factor) {
  const MapSquare& map = square();
  const double scale =
      std::min(map.axis.blocks().front().units_per_token * factor, most_em * em_of(font()));
  const QPointF inside = position - map.rect.topLeft();
  move_to(map.axis.enlarged(scale, inside.y(), inside.x()));
}

void MapView::zoom_by(double factor) {
  if (!has_map() || !can_zoom()) return;
  zoom_about(pinned_ ? position_of(pinned_->first, pinned_->second) : square().rect.center(),
             factor);
}

void MapView::zoom_to(double pixels, qint64 row, qint64 column) {
  if (!has_map() || !can_zoom()) return;
  const MapAxis& axis = square().axis;
  const auto place = [&](qint64 token) {
    return axis.place_at(axis.begin_of(token) + axis.extent_of(token) / 2);
  };
  set_focus({.tokens = axis.length() / pixels, .row = place(row), .column = place(column)});
}

// The larger side of the frame fills the map.
void MapView::frame(const QRectF& part) {
  const MapSquare& map = square();
  const QRectF inside = part.intersected(map.rect);
  const double side = std::max(inside.width(), inside.height());
  if (side < QApplication::startDragDistance()) return;
  const QPointF middle = inside.center() - map.rect.topLeft();
  const double fewest = map.axis.length() / (most_em * em_of(font()));
  move_to({.tokens = std::max(side / map.axis.blocks().front().units_per_token, fewest),
           .row = map.axis.place_at(middle.y() + map.axis.row_scroll()),
           .column = map.axis.place_at(middle.x() + map.axis.column_scroll())});
}

void MapView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !has_map()) return QWidget::mousePressEvent(event);
  press_ = event->position();
  pinned_before_ = pinned_;
  if (!can_zoom()) return;
  if (event->modifiers() & Qt::ShiftModifier) {
    frame_ = QRectF(*press_, *press_);
  } else {
    drag_from_ = press_;
  }
}

void MapView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_from_ && has_map()) {
    const QPointF pixels = event->position() - *drag_from_;
    if (focus_.tokens > 0) move_to(square().axis.moved(-pixels.y(), -pixels.x()));
    drag_from_ = event->position();
  } else if (frame_) {
    frame_->setBottomRight(event->position());
    update();
  }
  hover(pair_at(event->position()));
}

// A press and a release at the same position are a click; otherwise the map was dragged.
void MapView::mouseReleaseEvent(QMouseEvent* event) {
  drag_from_.reset();
  const std::optional<QRectF> framed = std::exchange(frame_, std::nullopt);
  if (!press_ || !has_map()) return;
  const double moved = (event->position() - *press_).manhattanLength();
  press_.reset();
  if (moved >= QApplication::startDragDistance()) {
    if (framed) frame(framed->normalized());
    return update();
  }
  const auto pair = pair_at(event->position());
  if (!pair) return;
  if (pair == pinned_) {
    pin(-1, -1);
  } else {
    pin(pair->first, pair->second);
  }
}

void MapView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  const Pair before = pinned_before_.value_or(Pair(-1, -1));
  pin(before.first, before.second);
  show_all();
}

void MapView::leaveEvent(QEvent* /*event*/) {
  hover(std::nullopt);
}

void MapView::wheelEvent(QWheelEvent* event) {
  if (!has_map() || !can_zoom() || event->angleDelta().y() == 0) return QWidget::wheelEvent(event);
  zoom_about(event->position(), std::pow(notch_zoom, event->angleDelta().y() / 120.0));
  hover(pair_at(event->position()));
  event->accept();
}

void MapView::keyPressEvent(QKeyEvent* event) {
  if (has_map() && (move_pair(*event) || move_map(*event))) return event->accept();
  QWidget::keyPressEvent(event);
}

bool MapView::move_pair(const QKeyEvent& event) {
  if (event.key() == Qt::Key_Escape) {
    const bool was_pinned = pinned_.has_value();
    pin(-1, -1);
    if (!was_pinned) Q_EMIT pinned(-1, -1);
    return was_pinned;
  }
  const auto direction = direction_of(event.key());
  if (!direction || event.modifiers() & (Qt::ControlModifier | Qt::AltModifier)) return false;
  if (!pinned_) {
    const auto middle = pair_at(square().rect.center());
    const qint64 half = square().axis.tokens() / 2;
    pin(middle ? middle->first : half, middle ? middle->second : half);
    return true;
  }
  const qint64 step = event.modifiers() & Qt::ShiftModifier ? large_step : 1;
  const qint64 last = square().axis.tokens() - 1;
  pin(std::clamp<qint64>(pinned_->first + step * direction->y(), 0, last),
      std::clamp<qint64>(pinned_->second + step * direction->x(), 0, last));
  return true;
}

bool MapView::move_map(const QKeyEvent& event) {
  if (!can_zoom()) return false;
  if (const auto direction = direction_of(event.key())) {
    const double step = square().rect.width() * pan_share;
    move_to(square().axis.moved(step * direction->y(), step * direction->x()));
    return true;
  }
  switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom_by(press_zoom);
      return true;
    case Qt::Key_Minus:
      zoom_by(1 / press_zoom);
      return true;
    case Qt::Key_0:
      show_all();
      return true;
    default:
      return false;
  }
}

void MapView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const ThemeColors& colors = colors_of(theme());
  if (!has_map()) {
    const double em = em_of(font());
    painter.fillRect(rect(), colors.background);
    painter.setFont(figure_font(em));
    painter.setPen(colors.faint_text);
    painter.drawText(QRectF(rect()).adjusted(em, em, -em, -em), Qt::AlignCenter | Qt::TextWordWrap,
                     message_);
    return;
  }
  paint_map(painter);
  if (pinned_) paint_pair(painter, *pinned_, true);
  if (hovered_ && hovered_ != pinned_) paint_pair(painter, *hovered_, false);
  painter.setRenderHint(QPainter::Antialiasing, false);
  painter.setBrush(Qt::NoBrush);
  if (frame_) {
    painter.setPen(QPen(colors.selected, 1, Qt::DashLine));
    painter.drawRect(frame_->intersected(square().rect));
  }
  if (hasFocus()) {
    painter.setPen(QPen(colors.selected, 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

// The pinned pair has a cross along its row and column; the hovered one only a box.
void MapView::paint_pair(QPainter& painter, Pair pair, bool is_pinned) const {
  const QColor color = colors_of(theme()).selected;
  const QRectF cell = square().cell(pair.first, pair.second);
  const QRectF& area = square().rect;
  painter.save();
  painter.setClipRect(area.adjusted(-2, -2, 2, 2));
  painter.setBrush(Qt::NoBrush);
  if (is_pinned) {
    painter.setPen(QPen(color, 1, Qt::DashLine));
    const QPointF center = cell.center();
    painter.drawLine(QPointF(area.left(), center.y()), QPointF(cell.left(), center.y()));
    painter.drawLine(QPointF(center.x(), area.top()), QPointF(center.x(), cell.top()));
  }
  painter.setPen(QPen(color, is_pinned ? 3 : 2));
  const double grow = std::max(0.0, (5 - cell.width()) / 2);  // a smaller box would not be visible
  painter.drawRect(cell.adjusted(-grow, -grow, grow, grow));
  painter.restore();
}

void MapView::resizeEvent(QResizeEvent* /*event*/) {
  invalidate();
}

void MapView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) invalidate();
  QWidget::changeEvent(event);
}

namespace {

/// Whether the map of all tokens has sufficient resolution for the region.
bool suffices(const PooledMap& map, const MapRegion& region) {
  const auto cells_a_token = [](std::int64_t cells, TokenRange range) {
    return static_cast<double>(cells) / static_cast<double>(range.size());
  };
  return cells_a_token(map.region().width, map.region().columns) >=
         cells_a_token(region.width, region.columns) * (1 - 1e-9);
}

TokenRange between(std::pair<qint64, qint64> rows) {
  return {std::min(rows.first, rows.second), std::max(rows.first, rows.second) + 1};
}

}  // namespace

HeatView::HeatView(QWidget* parent) : MapView(tr("Attention weights"), parent) {
  connect(&refiner_, &LatestJob::failed, this, &HeatView::show_message);
}

void HeatView::show_weights(std::shared_ptr<const WeightRows> weights,
                            std::shared_ptr<const HeadSummary> summary,
                            std::shared_ptr<const std::vector<TokenGroup>> groups) {
  if (along_.groups != groups) {
    forget_focus();
    chosen_rows_.clear();
  }
  weights_ = std::move(weights);
  summary_ = std::move(summary);
  along_.groups = std::move(groups);
  setAccessibleDescription(tr("%1 tokens; rows attend to columns").arg(tokens()));
  message_ = tr("Computing the weights.");
  invalidate();
  keep_valid_pairs();
}

void HeatView::set_token_texts(std::shared_ptr<const std::vector<std::string>> tokens) {
  along_.texts = std::move(tokens);
  invalidate();
}

void HeatView::show_message(const QString& message) {
  refiner_.drop();
  weights_.reset();
  summary_.reset();
  cells_ = QImage();
  show_sentence(message);
}

void HeatView::set_title(const QString& title) {
  if (title == title_) return;
  title_ = title;
  setAccessibleName(title.isEmpty() ? tr("Attention weights")
                                    : tr("Attention weights, %1").arg(title));
  invalidate();
}

void HeatView::set_scale(const HeatScale& scale) {
  if (scale == scale_) return;
  scale_ = scale;
  invalidate();
}

void HeatView::set_chosen_rows(const std::vector<TokenRange>& rows) {
  chosen_rows_ = rows;
  update();
}

void HeatView::set_marked(qint64 column) {
  if (marked_ == column) return;
  marked_ = column;
  update();
}

const HeatDrawing& HeatView::drawing() const {
  if (!drawing_) {
    drawing_.emplace(along_, focus(),
                     HeatDrawing::Page{QSizeF(size()), em_of(font()), theme(), title_});
  }
  return *drawing_;
}

void HeatView::invalidate() {
  drawing_.reset();
  update();
  if (!weights_ || !isVisible()) return;
  refiner_.start([this, weights = weights_, summary = summary_, scale = scale_, theme = theme(),
                  region = drawing().region(devicePixelRatioF())](const LatestJob::Token& token) {
    const std::optional<PooledMap> map =
        suffices(summary->map, region)
            ? std::optional(summary->map.pooled(region))
            : pool_region(*weights, region, [&] { return token.superseded(); });
    if (!map) return;
    token.deliver([this, region, image = heat_image(*map, scale, theme)] {
      cells_ = image;
      region_ = region;
      update();
      Q_EMIT settled();
    });
  });
}

void HeatView::showEvent(QShowEvent* event) {
  MapView::showEvent(event);
  invalidate();
}

void HeatView::paint_map(QPainter& painter) {
  painter.fillRect(rect(), colors_of(theme()).background);
  drawing().paint(painter, cells_, region_);
  const QRectF& map = square().rect;
  const QRectF margin = row_margin();
  painter.save();
  painter.setClipRect(map.adjusted(-margin.width(), -margin.width(), 1, 1));
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(colors_of(theme()).selected, 2));
  const std::vector<TokenRange> band =
      band_ ? std::vector<TokenRange>{between(*band_)} : chosen_rows_;
  for (const TokenRange& rows : band) painter.drawRect(drawing().rows_rect(rows));
  if (marked_ >= 0) {
    const double x = square().cell(0, marked_).center().x();
    painter.setPen(QPen(colors_of(theme()).selected, 1));
    if (x >= map.left()) painter.drawLine(QPointF(x, map.top()), QPointF(x, map.bottom()));
  }
  painter.restore();
}

QSize HeatView::sizeHint() const {
  const int em = static_cast<int>(em_of(font()));
  return {36 * em, 36 * em};
}

// In points, not in letters: large text must not reduce the map. Three maps fit between the two
// sides of a page in a window of 1000 points.
QSize HeatView::minimumSizeHint() const {
  return {90, 110};
}

qint64 HeatView::row_at(double y) const {
  const QRectF& map = square().rect;
  const double inside = std::clamp(y, map.top(), map.bottom() - 0.01);
  return pair_at({map.left() + 1, inside}).value_or(Pair(0, 0)).first;
}

void HeatView::mousePressEvent(QMouseEvent* event) {
  const bool on_margin =
      has_map() && event->button() == Qt::LeftButton && row_margin().contains(event->position());
  if (!on_margin) return MapView::mousePressEvent(event);
  const qint64 row = row_at(event->position().y());
  band_ = {row, row};
  update();
}

void HeatView::mouseMoveEvent(QMouseEvent* event) {
  if (!band_ || !has_map()) return MapView::mouseMoveEvent(event);
  band_->second = row_at(event->position().y());
  update();
}

void HeatView::mouseReleaseEvent(QMouseEvent* event) {
  if (!band_) return MapView::mouseReleaseEvent(event);
  const TokenRange rows = between(*std::exchange(band_, std::nullopt));
  update();
  Q_EMIT rows_chosen(rows);
}

HeatBar::HeatBar(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  set_scale({});
}

void HeatBar::set_scale(const HeatScale& scale) {
  scale_ = scale;
  setAccessibleName(scale.difference ? tr("Colours of differences") : tr("Colours of weights"));
  setAccessibleDescription(tr("%1 to %2, %3")
                               .arg(weight_words(scale.value(0)), weight_words(scale.value(1)),
                                    scale.logarithmic ? tr("logarithmic") : tr("linear")));
  setToolTip(scale.difference ? tr("Weight under B minus weight under A")
                              : tr("Attention weight; of pairs that share a pixel, the largest"));
  update();
}

QSize HeatBar::sizeHint() const {
  return {12 * fontMetrics().averageCharWidth(), (5 * fontMetrics().height()) / 2};
}

QSize HeatBar::minimumSizeHint() const {
  return {9 * fontMetrics().averageCharWidth(), sizeHint().height()};
}

void HeatBar::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  painter.setFont(figure_font(em_of(font())));
  const double line = fontMetrics().height();
  paint_color_bar(painter, QRectF(1, 1, width() - 2, 0.7 * line), scale_, theme_of(palette()));
}

namespace {

// Making a mask indexes its tokens, which takes some 30 ns each.
constexpr std::int64_t tokens_made_at_once = 20'000;
// Rendering takes some 20 ns per interval and 4 ns per pixel; these limits keep it below half a
// frame (16 ms).
constexpr double intervals_at_once = 1.5e5;
constexpr double pixels_at_once = 1.2e6;
constexpr double coarse_intervals = 1e5;
constexpr int least_coarse_pixels = 16;
constexpr int coarse_pixels = 96;
constexpr double compact_em = 10;  // margins only, without text
constexpr double least_names_em = 18, least_legend_em = 26;

std::int64_t tokens_of(const LayoutItem& item) {
  std::int64_t tokens = item.cls + item.query;
  for (const std::int64_t document : item.documents) tokens += document;
  return tokens;
}

/// The same picture with few large pixels, each from one or two rows.
CellPicture coarse(CellPicture picture, int pixels) {
  picture.pixels_per_unit *= static_cast<double>(pixels) / picture.pixels;
  picture.pixels = pixels;
  picture.most_samples = 2;
  return picture;
}

}  // namespace

MaskView::MaskView(QWidget* parent) : MapView(QStringLiteral("Attention mask"), parent) {
  message_ = QStringLiteral("No pattern chosen");
  for (LatestJob* job : {&maker_, &refiner_}) {
    connect(job, &LatestJob::failed, this,
            [this](const QString& sentence) { (void)refuse(Error{sentence.toStdString()}); });
  }
}

Status MaskView::show_difference(const MaskSource& a, const std::optional<MaskSource>& b,
                                 const LayoutItem& item) {
  const bool same_sizes =
      a_ && item.cls == item_.cls && item.query == item_.query && item.documents == item_.documents;
  if (!same_sizes) forget_focus();
  a_ = a;
  b_ = b;
  item_ = item;
  return rebuild();
}

void MaskView::set_style(MaskStyle style) {
  if (style == style_) return;
  forget_focus();
  style_ = style;
  if (a_) (void)rebuild();  // the view shows an error, as show_mask does
}

Status MaskView::rebuild() {
  maker_.drop();
  // Small masks are made here. For large masks, the checks that need no mask run here, so that
  // errors are reported at once.
  const std::int64_t tokens = tokens_of(item_);
  const bool large = style_ != MaskStyle::schematic && tokens > tokens_made_at_once &&
                     tokens <= MaskProblem::largest;
  if (!large) {
    auto masks = make_masks(*a_, b_, item_, style_);
    if (!masks) return refuse(masks.error());
    adopt(*std::move(masks));
    return {};
  }
  if (Result<SequenceLayout> layout = SequenceLayout::make({item_}); !layout) {
    return refuse(layout.error());
  }
  for (const std::optional<MaskSource>* source : {&std::as_const(a_), &std::as_const(b_)}) {
    if (*source && (*source)->pattern.has_window() && !(*source)->window) {
      return refuse(Error{"pattern '" + (*source)->pattern.name + "' needs a window"});
    }
  }
  if (!has_map()) {
    message_ = QStringLiteral("Drawing %1 tokens…").arg(tokens);
    update();
  }
  maker_.start(
      [this, a = *a_, b = b_, item = item_, style = style_](const LatestJob::Token& token) {
        auto masks = make_masks(a, b, item, style);
        token.deliver([this, masks = std::move(masks)] {
          if (masks) return adopt(*masks);
          (void)refuse(masks.error());
        });
      });
  return {};
}

Status MaskView::refuse(const Error& error) {
  masks_ = {};
  show_sentence(QString::fromStdString(error.message));
  pin(-1, -1);
  invalidate();
  return tl::unexpected(error);
}

void MaskView::adopt(DrawnMasks masks) {
  drawing_.reset();
  masks_ = std::move(masks);
  message_.clear();
  keep_valid_pairs();
  describe();
  invalidate();
}

void MaskView::describe() {
  if (!has_map()) return;
  const QString style = QString::fromUtf8(name_of(style_).data());
  QString text = QStringLiteral("%1: %2 tokens, style %3. Rows attend to columns.")
                     .arg(QString::fromStdString(a_->pattern.title))
                     .arg(masks_.a->tokens())
                     .arg(style);
  if (masks_.b) text.prepend(QStringLiteral("Difference to %1. ").arg(b_->pattern.title.c_str()));
  if (pinned_pair()) text += QLatin1Char(' ') + explain_pair(*pinned_pair());
  setAccessibleDescription(text);
}

bool MaskView::is_settled() const {
  return !maker_.is_busy() && !refiner_.is_busy() && (!has_map() || (!is_stale_ && !is_coarse_));
}

void MaskView::set_compact(bool compact) {
  if (compact == is_compact_) return;
  is_compact_ = compact;
  updateGeometry();
  invalidate();
}

void MaskView::invalidate() {
  drawing_.reset();
  is_stale_ = true;
  refiner_.drop();
  update();
}

const MaskDrawing& MaskView::drawing() const {
  if (!drawing_) {
    MaskDrawing::Page page;
    page.size = QSizeF(size());
    page.em = is_compact_ ? compact_em : em_of(font());
    page.theme = theme();
    // Around a small mask they would leave no room for the mask.
    const double room = std::min(width(), height()) / page.em;
    page.legend = !is_compact_ && room >= least_legend_em;
    page.names = !is_compact_ && room >= least_names_em;
    drawing_.emplace(masks_, focus(), page);
  }
  return *drawing_;
}

QString MaskView::explain(qint64 query_token, qint64 key_token) const {
  if (!is_pair({query_token, key_token})) return {};
  const auto sentence = [&](const MaskProblem& problem) {
    return QString::fromStdString(problem.oracle().explain(query_token, key_token));
  };
  if (!masks_.b) return sentence(*masks_.a);
  return QStringLiteral("A: %1.\nB: %2.").arg(sentence(*masks_.a), sentence(*masks_.b));
}

QSize MaskView::sizeHint() const {
  const int em = static_cast<int>(em_of(font()));
  return is_compact_ ? minimumSizeHint() : QSize(44 * em, 44 * em);
}

// In points, not in letters: a page with large text must still fit a small screen.
QSize MaskView::minimumSizeHint() const {
  return is_compact_ ? QSize(136, 136) : QSize(240, 240);
}

QImage MaskView::cells_at_once() const {
  return has_map() ? render_cells(drawing().picture(devicePixelRatioF())) : QImage();
}

void MaskView::render_picture() {
  is_stale_ = false;
  const CellPicture picture = drawing().picture(devicePixelRatioF());
  is_coarse_ = intervals_of(picture) > intervals_at_once ||
               static_cast<double>(picture.pixels) * picture.pixels > pixels_at_once;
  if (!is_coarse_) {
    cells_ = render_cells(picture, {}, &rows_sampled_);
    return;
  }
  int pixels = std::min(coarse_pixels, picture.pixels);
  while (pixels >= least_coarse_pixels &&
         intervals_of(coarse(picture, pixels)) > coarse_intervals) {
    pixels /= 2;
  }
  const bool has_coarse = pixels >= least_coarse_pixels;
  // If even that takes too long, the thread also makes the coarse picture.
  cells_ = has_coarse ? render_cells(coarse(picture, pixels), {}, &rows_sampled_) : QImage();
  refiner_.start([this, has_coarse, fine = picture](const LatestJob::Token& token) {
    const auto superseded = [&token] { return token.superseded(); };
    if (!has_coarse) {
      const QImage first =
          render_cells(coarse(fine, std::min(coarse_pixels, fine.pixels)), superseded);
      if (first.isNull()) return;
      token.deliver([this, first] {
        cells_ = first;
        update();
      });
    }
    qint64 rows = 0;
    const QImage image = render_cells(fine, superseded, &rows);
    if (image.isNull()) return;
    token.deliver([this, image, rows] {
      cells_ = image;
      rows_sampled_ = rows;
      is_coarse_ = false;
      update();
      Q_EMIT settled();
    });
  });
}

void MaskView::paint_map(QPainter& painter) {
  if (is_stale_) render_picture();
  drawing().paint(painter, cells_);
}

}  // namespace attnscope::charts
