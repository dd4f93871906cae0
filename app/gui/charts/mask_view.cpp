// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_view.h"

#include <QEvent>
#include <QFontInfo>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/figure_font.h"

namespace attnscope::charts {
namespace {

double em_of(const QWidget& widget) {
  return QFontInfo(widget.font()).pixelSize();
}

/// Where `position` (unscrolled units) lies: a block and tokens from its begin, fractions included.
/// A position in a gap belongs to the end of the block before it.
struct AxisPlace {
  std::size_t block = 0;
  double tokens = 0;
};

AxisPlace place_on(const MaskAxis& axis, double position) {
  const std::vector<MaskBlock>& blocks = axis.blocks();
  std::size_t b = 0;
  while (b + 1 < blocks.size() && position >= blocks[b + 1].begin) ++b;
  const double tokens = (position - blocks[b].begin) / blocks[b].units_per_token;
  return {b, std::clamp(tokens, 0.0, static_cast<double>(blocks[b].tokens.size()))};
}

double position_on(const MaskAxis& axis, const AxisPlace& place) {
  const MaskBlock& block = axis.blocks()[place.block];
  return block.begin + place.tokens * block.units_per_token;
}

}  // namespace

MaskView::MaskView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_OpaquePaintEvent);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
  setAccessibleName(QStringLiteral("Attention mask"));
  message_ = QStringLiteral("No pattern chosen");
}

MaskView::~MaskView() = default;

Status MaskView::show_mask(const AttentionPattern& pattern, std::optional<Window> window,
                           const LayoutItem& item) {
  const bool same_sizes = pattern_ && item.cls == item_.cls && item.query == item_.query &&
                          item.documents == item_.documents;
  if (!same_sizes) viewport_ = {};
  pattern_ = pattern;
  window_ = window;
  item_ = item;
  return rebuild();
}

void MaskView::set_style(MaskStyle style) {
  if (style == style_) return;
  style_ = style;
  viewport_ = {};
  if (pattern_) (void)rebuild();  // a failure is shown in the view, as show_mask left it
}

Status MaskView::rebuild() {
  drawing_.reset();  // refers to the problem
  problem_.reset();
  message_.clear();
  Status status;
  if (Result<std::unique_ptr<MaskProblem>> made =
          MaskProblem::make(*pattern_, window_, item_, style_);
      made) {
    problem_ = *std::move(made);
    setAccessibleDescription(QStringLiteral("%1: %2 tokens, style %3. Rows attend to columns.")
                                 .arg(QString::fromStdString(pattern_->title))
                                 .arg(problem_->tokens())
                                 .arg(QString::fromStdString(std::string(name_of(style_)))));
  } else {
    message_ = QString::fromStdString(made.error().message);
    setAccessibleDescription(message_);
    status = tl::unexpected(made.error());
  }
  hover(std::nullopt);
  invalidate();
  return status;
}

void MaskView::set_theme(ChartTheme theme) {
  theme_ = theme;
  invalidate();
}

ChartTheme MaskView::theme() const {
  return theme_.value_or(theme_of(palette()));
}

void MaskView::invalidate() {
  drawing_.reset();
  cells_ = QImage();
  update();
}

const MaskDrawing& MaskView::drawing() const {
  if (!drawing_) {
    MaskDrawing::Page page;
    page.size = QSizeF(size());
    page.em = em_of(*this);
    page.theme = theme();
    drawing_ = std::make_unique<MaskDrawing>(*problem_, style_, viewport_, page);
  }
  return *drawing_;
}

QString MaskView::explain(qint64 query_token, qint64 key_token) const {
  if (!problem_ || query_token < 0 || key_token < 0 || query_token >= problem_->tokens() ||
      key_token >= problem_->tokens()) {
    return {};
  }
  return QString::fromStdString(problem_->oracle().explain(query_token, key_token));
}

std::optional<std::pair<qint64, qint64>> MaskView::pair_at(QPointF position) const {
  return problem_ ? drawing().pair_at(position) : std::nullopt;
}

QPointF MaskView::position_of(qint64 query_token, qint64 key_token) const {
  return problem_ ? drawing().cell_rect(query_token, key_token).center() : QPointF();
}

QSize MaskView::sizeHint() const {
  const int em = static_cast<int>(em_of(*this));
  return {44 * em, 44 * em};
}

QSize MaskView::minimumSizeHint() const {
  const int em = static_cast<int>(em_of(*this));
  return {24 * em, 26 * em};
}

void MaskView::paintEvent(QPaintEvent* /*event*/) {
  QPainter painter(this);
  const ThemeColors& colors = colors_of(theme());
  if (!problem_) {
    painter.fillRect(rect(), colors.background);
    painter.setFont(figure_font(em_of(*this)));
    painter.setPen(colors.faint_text);
    painter.drawText(QRectF(rect()).adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap,
                     message_);
    return;
  }
  const MaskDrawing& mask = drawing();
  if (cells_.isNull()) {
    MaskDrawing::Cells cells = mask.render_cells(devicePixelRatioF());
    cells_ = std::move(cells.image);
    rows_sampled_ = cells.rows_sampled;
  }
  mask.paint_ground(painter);
  painter.drawImage(mask.cells_rect(), cells_);
  mask.paint_frame(painter);
  if (hovered_) {
    const QRectF cell = mask.cell_rect(hovered_->first, hovered_->second);
    painter.setClipRect(mask.cells_rect().adjusted(-2, -2, 2, 2));
    painter.setPen(QPen(colors.selected, 2));
    painter.setBrush(Qt::NoBrush);
    const double grow = std::max(0.0, (5 - cell.width()) / 2);  // a speck would not be seen
    painter.drawRect(cell.adjusted(-grow, -grow, grow, grow));
    painter.setClipping(false);
  }
  if (hasFocus()) {
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors.selected, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
  }
}

void MaskView::resizeEvent(QResizeEvent* /*event*/) {
  invalidate();
}

void MaskView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) invalidate();
  QWidget::changeEvent(event);
}

void MaskView::hover(std::optional<std::pair<qint64, qint64>> pair) {
  if (pair == hovered_) return;
  hovered_ = pair;
  setToolTip(pair ? explain(pair->first, pair->second) : QString());
  update();
  Q_EMIT hovered(pair ? pair->first : -1, pair ? pair->second : -1);
}

void MaskView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_from_) {
    pan_by(event->position() - *drag_from_);
    drag_from_ = event->position();
  }
  hover(pair_at(event->position()));
}

void MaskView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !problem_) return QWidget::mousePressEvent(event);
  if (style_ == MaskStyle::true_scale) drag_from_ = event->position();
}

void MaskView::mouseReleaseEvent(QMouseEvent* /*event*/) {
  drag_from_.reset();
}

void MaskView::mouseDoubleClickEvent(QMouseEvent* /*event*/) {
  show_all();
}

void MaskView::leaveEvent(QEvent* /*event*/) {
  hover(std::nullopt);
}

void MaskView::wheelEvent(QWheelEvent* event) {
  if (!problem_ || style_ != MaskStyle::true_scale || event->angleDelta().y() == 0) {
    return QWidget::wheelEvent(event);
  }
  zoom_about(event->position(), std::pow(1.25, event->angleDelta().y() / 120.0));
  hover(pair_at(event->position()));
  event->accept();
}

void MaskView::keyPressEvent(QKeyEvent* event) {
  if (!problem_ || style_ != MaskStyle::true_scale) return QWidget::keyPressEvent(event);
  const QPointF middle = drawing().cells_rect().center();
  const double step = drawing().cells_rect().width() / 8;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom_about(middle, 1.5);
      break;
    case Qt::Key_Minus:
      zoom_about(middle, 1 / 1.5);
      break;
    case Qt::Key_Home:
      show_all();
      break;
    case Qt::Key_Left:
      pan_by({step, 0});
      break;
    case Qt::Key_Right:
      pan_by({-step, 0});
      break;
    case Qt::Key_Up:
      pan_by({0, step});
      break;
    case Qt::Key_Down:
      pan_by({0, -step});
      break;
    default:
      QWidget::keyPressEvent(event);
  }
}

void MaskView::show_all() {
  viewport_ = {};
  invalidate();
}

void MaskView::pan_by(QPointF pixels) {
  if (!problem_) return;
  viewport_.row = drawing().axis().row_scroll() - pixels.y();
  viewport_.column = drawing().axis().column_scroll() - pixels.x();
  invalidate();
}

// What lies under `position` stays there.
void MaskView::zoom_about(QPointF position, double factor) {
  const MaskDrawing& mask = drawing();
  const MaskAxis& axis = mask.axis();
  const QPointF inside = position - mask.cells_rect().topLeft();
  const AxisPlace row = place_on(axis, inside.y() + axis.row_scroll());
  const AxisPlace column = place_on(axis, inside.x() + axis.column_scroll());
  MaskViewport next;
  next.scale = std::min(axis.blocks().front().units_per_token * factor, 4 * em_of(*this));
  const MaskAxis zoomed(*problem_, style_, axis.length(), mask.gap(), next);
  next.row = position_on(zoomed, row) - inside.y();
  next.column = position_on(zoomed, column) - inside.x();
  if (zoomed.total() <= zoomed.length() * (1 + 1e-9)) next = {};
  viewport_ = next;
  invalidate();
}

void MaskView::zoom_to(double pixels_per_token, qint64 query_token, qint64 key_token) {
  if (!problem_ || style_ != MaskStyle::true_scale) return;
  const MaskDrawing& mask = drawing();
  MaskViewport next;
  next.scale = pixels_per_token;
  const MaskAxis zoomed(*problem_, style_, mask.axis().length(), mask.gap(), next);
  const auto scroll = [&](qint64 token) {
    return zoomed.begin_of(token) + zoomed.extent_of(token) / 2 - zoomed.length() / 2;
  };
  next.row = scroll(query_token);
  next.column = scroll(key_token);
  viewport_ = next;
  invalidate();
}

}  // namespace attnscope::charts
