// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/mask_view.h"

#include <QPainter>
#include <algorithm>

#include "app/gui/charts/figure_font.h"

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

Result<std::shared_ptr<const MaskProblem>> make_shared_problem(const MaskSource& source,
                                                               const LayoutItem& item,
                                                               MaskStyle style) {
  Result<std::unique_ptr<MaskProblem>> made =
      MaskProblem::make(source.pattern, source.window, item, style);
  if (!made) return tl::unexpected(made.error());
  return std::shared_ptr<const MaskProblem>(*std::move(made));
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
    auto problem = make_shared_problem(*a_, item_, style_);
    if (!problem) return refuse(problem.error());
    Result<ProblemPointer> other{nullptr};
    if (b_) other = make_shared_problem(*b_, item_, style_);
    if (!other) return refuse(other.error());
    adopt(*std::move(problem), *std::move(other));
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
  if (!problem_) {
    message_ = QStringLiteral("Drawing %1 tokens…").arg(tokens);
    update();
  }
  maker_.start(
      [this, a = *a_, b = b_, item = item_, style = style_](const LatestJob::Token& token) {
        auto problem = make_shared_problem(a, item, style);
        Result<ProblemPointer> other{nullptr};
        if (problem && b) other = make_shared_problem(*b, item, style);
        token.deliver([this, problem = std::move(problem), other = std::move(other)] {
          if (problem && other) return adopt(*problem, *other);
          (void)refuse(problem ? other.error() : problem.error());
        });
      });
  return {};
}

Status MaskView::refuse(const Error& error) {
  drawing_.reset();  // refers to the problems
  problem_.reset();
  other_.reset();
  message_ = QString::fromStdString(error.message);
  setAccessibleDescription(message_);
  hover(std::nullopt);
  pin(-1, -1);
  invalidate();
  return tl::unexpected(error);
}

void MaskView::adopt(ProblemPointer problem, ProblemPointer other) {
  drawing_.reset();  // refers to the problems
  problem_ = std::move(problem);
  other_ = std::move(other);
  message_.clear();
  hover(std::nullopt);
  if (pinned_pair() && !is_pair(*pinned_pair())) pin(-1, -1);
  describe();
  invalidate();
}

void MaskView::describe() {
  if (!problem_) return;
  const QString style = QString::fromUtf8(name_of(style_).data());
  QString text = QStringLiteral("%1: %2 tokens, style %3. Rows attend to columns.")
                     .arg(QString::fromStdString(a_->pattern.title))
                     .arg(problem_->tokens())
                     .arg(style);
  if (other_) text.prepend(QStringLiteral("Difference to %1. ").arg(b_->pattern.title.c_str()));
  if (pinned_pair()) text += QLatin1Char(' ') + explain_pair(*pinned_pair());
  setAccessibleDescription(text);
}

bool MaskView::is_settled() const {
  return !maker_.is_busy() && !refiner_.is_busy() && (!problem_ || (!is_stale_ && !is_coarse_));
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
    page.em = is_compact_ ? compact_em : em_of(*this);
    page.theme = theme();
    // Around a small mask they would leave no room for the mask.
    const double room = std::min(width(), height()) / page.em;
    page.legend = !is_compact_ && room >= least_legend_em;
    page.names = !is_compact_ && room >= least_names_em;
    drawing_ = std::make_unique<MaskDrawing>(*problem_, focus(), page, other_.get());
  }
  return *drawing_;
}

QString MaskView::explain(qint64 query_token, qint64 key_token) const {
  if (!is_pair({query_token, key_token})) return {};
  const auto sentence = [&](const MaskProblem& problem) {
    return QString::fromStdString(problem.oracle().explain(query_token, key_token));
  };
  if (!other_) return sentence(*problem_);
  return QStringLiteral("A: %1.\nB: %2.").arg(sentence(*problem_), sentence(*other_));
}

QSize MaskView::sizeHint() const {
  const int em = static_cast<int>(em_of(*this));
  return is_compact_ ? minimumSizeHint() : QSize(44 * em, 44 * em);
}

// In points, not in letters: a page with large text must still fit a small screen.
QSize MaskView::minimumSizeHint() const {
  return is_compact_ ? QSize(136, 136) : QSize(240, 240);
}

QImage MaskView::cells_at_once() const {
  return problem_ ? CellRaster(drawing().picture(devicePixelRatioF())).render() : QImage();
}

void MaskView::render_cells(const MaskDrawing& mask) {
  is_stale_ = false;
  const CellPicture picture = mask.picture(devicePixelRatioF());
  const auto render = [this](const CellPicture& wanted) {
    CellRaster raster(wanted);
    cells_ = raster.render();
    rows_sampled_ = raster.rows_sampled();
  };
  is_coarse_ = CellRaster::intervals_of(picture) > intervals_at_once ||
               static_cast<double>(picture.pixels) * picture.pixels > pixels_at_once;
  if (!is_coarse_) return render(picture);
  int pixels = std::min(coarse_pixels, picture.pixels);
  while (pixels >= least_coarse_pixels &&
         CellRaster::intervals_of(coarse(picture, pixels)) > coarse_intervals) {
    pixels /= 2;
  }
  const bool has_coarse = pixels >= least_coarse_pixels;
  if (has_coarse) {
    render(coarse(picture, pixels));
  } else {
    cells_ = QImage();  // the thread also makes the coarse picture
  }
  refine(picture, has_coarse);
}

void MaskView::refine(const CellPicture& picture, bool has_coarse) {
  // The picture refers to the problems, so the job keeps them alive.
  refiner_.start([this, problem = problem_, other = other_, has_coarse,
                  fine = picture](const LatestJob::Token& token) {
    const auto superseded = [&token] { return token.superseded(); };
    if (!has_coarse) {
      const QImage first =
          CellRaster(coarse(fine, std::min(coarse_pixels, fine.pixels))).render(superseded);
      if (first.isNull()) return;
      token.deliver([this, first] {
        cells_ = first;
        update();
      });
    }
    CellRaster raster(fine);
    const QImage image = raster.render(superseded);
    if (image.isNull()) return;
    token.deliver([this, image, rows = raster.rows_sampled()] {
      cells_ = image;
      rows_sampled_ = rows;
      is_coarse_ = false;
      update();
      Q_EMIT settled();
    });
  });
}

void MaskView::paint_map(QPainter& painter) {
  const MaskDrawing& mask = drawing();
  if (is_stale_) render_cells(mask);
  mask.paint_ground(painter);
  if (cells_.isNull()) {
    painter.fillRect(mask.square().rect, ground_color(theme()));
  } else {
    painter.drawImage(mask.square().rect, cells_);
  }
  mask.paint_frame(painter);
}

}  // namespace attnscope::charts
