// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_view.h"

#include <QPainter>
#include <algorithm>

#include "app/drawing/chart_style.h"

namespace attnscope::charts {
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
