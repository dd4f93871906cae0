// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <QApplication>
#include <QBuffer>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QHashFunctions>
#include <QImage>
#include <QMarginsF>
#include <QPageLayout>
#include <QPageSize>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QUuid>
#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/sentences.h"
#include "base/written_file.h"
#include "engine/report/number_text.h"
#include "engine/report/sheet.h"

namespace attnscope::charts {
namespace {

// QApplication keeps references to both for its whole lifetime.
int argument_count = 3;
char program[] = "attnscope";
char option[] = "-platform";
char platform[] = "offscreen";
char* arguments[] = {program, option, platform, nullptr};

}  // namespace

OffscreenApplication::OffscreenApplication() {
  if (QCoreApplication::instance() != nullptr) return;
  // Without a private runtime folder Qt prints a warning to stderr, although drawing to a file
  // needs none.
  if (!qEnvironmentVariableIsSet("XDG_RUNTIME_DIR")) {
    runtime_folder_ = std::make_unique<QTemporaryDir>();
    qputenv("XDG_RUNTIME_DIR", runtime_folder_->path().toLocal8Bit());
  }
  argument_count = 3;
  application_ = std::make_unique<QApplication>(argument_count, arguments);
}

OffscreenApplication::~OffscreenApplication() = default;

namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Characters that are safe in \includegraphics and in a comment.
bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x80 &&
         (std::isalnum(byte) != 0 || std::string_view("-_.+ ").find(c) != std::string_view::npos);
}

std::string tex_label(std::string stem) {
  std::ranges::replace_if(
      stem, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '-');
  return stem;
}

/// Appends a full stop if it is missing.
std::string sentence(std::string text) {
  if (!text.empty() && !text.ends_with('.')) text += '.';
  return text;
}

constexpr double points_per_inch = 72;
constexpr int units_per_inch = static_cast<int>(points_per_inch * units_per_point);
constexpr double largest_png_side = 20000;  // pixels; 1.6 GB of image

double mm_of_units(double units) {
  return units / units_per_inch * 25.4;
}

bool write_pdf(QIODevice& file, const FilePage& page, const std::function<void(QPainter&)>& paint) {
  QHashSeed::setDeterministicGlobalSeed();  // the order of its fonts depends on it
  QPdfWriter writer(&file);
  writer.setResolution(units_per_inch);
  const QSizeF mm(mm_of_units(page.size.width()), mm_of_units(page.size.height()));
  writer.setPageLayout(QPageLayout(
      QPageSize(mm, QPageSize::Millimeter, QStringLiteral("figure"), QPageSize::ExactMatch),
      QPageLayout::Portrait, QMarginsF(0, 0, 0, 0)));
  writer.setTitle(page.title);
  writer.setCreator(page.description.isEmpty()
                        ? QStringLiteral("AttnScope")
                        : QStringLiteral("AttnScope: %1").arg(page.description));
#if QT_VERSION >= QT_VERSION_CHECK(6, 8, 0)
  // Otherwise Qt generates a random id, and the same drawing gives different bytes each time.
  writer.setDocumentId(QUuid::createUuidV5(QUuid(), page.title + page.description));
#endif
  QPainter painter;
  if (!painter.begin(&writer)) return false;
  paint(painter);
  return painter.end();
}

/// Titles may contain user input.
QString shown(const QString& text) {
  constexpr std::size_t longest = 4000;  // bytes
  return QString::fromStdString(in_a_sentence(text.toStdString(), longest));
}

bool write_svg(QIODevice& file, const FilePage& page, const std::function<void(QPainter&)>& paint) {
  QBuffer buffer;
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setResolution(units_per_inch);
  const QSize size(static_cast<int>(std::ceil(page.size.width())),
                   static_cast<int>(std::ceil(page.size.height())));
  generator.setSize(size);
  generator.setViewBox(QRectF(QPointF(0, 0), QSizeF(size)));
  // Qt escapes drawn text, but title and description only from 6.8 on: insert them afterwards.
  generator.setTitle(QStringLiteral("figure"));
  generator.setDescription(QStringLiteral("figure"));
  QPainter painter;
  if (!painter.begin(&generator)) return false;
  paint(painter);
  if (!painter.end()) return false;
  // Text remains text; a reader without our font should use the closest font available. XML allows
  // no control characters, escaped or not.
  QByteArray text = buffer.data();
  text.replace("<title>figure</title>",
               "<title>" + page.title.toHtmlEscaped().toUtf8() + "</title>");
  text.replace("<desc>figure</desc>",
               "<desc>" + page.description.toHtmlEscaped().toUtf8() + "</desc>");
  text = QByteArray::fromStdString(visible(text.toStdString()));
  // Each state change of the painter is a group in the file, usually an empty one.
  static const QRegularExpression nothing(QStringLiteral("<g\\b[^>]*>\\s*</g>\\s*"));
  for (qsizetype before = -1; before != text.size();) {
    before = text.size();
    text = QString::fromUtf8(text).remove(nothing).toUtf8();
  }
  text.replace("font-family=\"Open Sans\"", "font-family=\"Open Sans, sans-serif\"");
  return file.write(text) == text.size();
}

bool write_png(QIODevice& file, const FilePage& page, const std::function<void(QPainter&)>& paint) {
  const double scale = page.png_dpi / units_per_inch;
  QImage image(static_cast<int>(std::lround(page.size.width() * scale)),
               static_cast<int>(std::lround(page.size.height() * scale)), QImage::Format_RGB32);
  if (image.isNull()) return false;
  image.fill(Qt::white);
  const int dots_per_meter = static_cast<int>(std::lround(page.png_dpi / 0.0254));
  image.setDotsPerMeterX(dots_per_meter);
  image.setDotsPerMeterY(dots_per_meter);
  image.setText(QStringLiteral("Title"), page.title);
  image.setText(QStringLiteral("Description"), page.description);
  QPainter painter(&image);
  painter.scale(scale, scale);
  paint(painter);
  painter.end();
  return image.save(&file, "PNG");
}

/// Blanks out the dates, so that the same drawing gives the same bytes on any day. Spaces preserve
/// all offsets in the file.
void blank_dates(QByteArray& pdf) {
  struct Date {
    const char* begin;
    char end;
  };
  // Qt 6.8 also writes them as XML metadata.
  for (const Date& date :
       {Date{"/CreationDate (", ')'}, Date{"/ModDate (", ')'}, Date{"xmp:CreateDate=\"", '"'},
        Date{"xmp:ModifyDate=\"", '"'}, Date{"xmp:MetadataDate=\"", '"'}}) {
    const qsizetype begin = pdf.indexOf(date.begin);
    const qsizetype end =
        begin < 0 ? -1 : pdf.indexOf(date.end, begin + qsizetype(qstrlen(date.begin)));
    if (end > begin) std::fill(pdf.begin() + begin, pdf.begin() + end + 1, ' ');
  }
}

}  // namespace

Result<FileFormat> format_of(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (extension == ".pdf") return FileFormat::pdf;
  if (extension == ".svg") return FileFormat::svg;
  if (extension == ".png") return FileFormat::png;
  if (extension.empty()) {
    return fail("{}: a figure's file name must end in .pdf, .svg or .png", path.string());
  }
  return fail("{}: cannot write figures as '{}'; use .pdf, .svg or .png", path.string(), extension);
}

Result<QByteArray> draw_bytes(FileFormat format, const FilePage& requested,
                              const std::function<void(QPainter&)>& paint) {
  assert(qGuiApp != nullptr && "make an OffscreenApplication first");
  FilePage page = requested;
  page.title = shown(page.title);
  page.description = shown(page.description);
  if (format == FileFormat::png) {
    const double side =
        std::max(page.size.width(), page.size.height()) * page.png_dpi / units_per_inch;
    if (!(page.png_dpi > 0) || side > largest_png_side) {
      return fail(
          "a resolution of {} dpi results in an image of {:.0f} pixels per side; at most {:.0f} "
          "are possible",
          page.png_dpi, side, largest_png_side);
    }
  }
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  bool painted = false;
  switch (format) {
    case FileFormat::pdf:
      painted = write_pdf(buffer, page, paint);
      break;
    case FileFormat::svg:
      painted = write_svg(buffer, page, paint);
      break;
    case FileFormat::png:
      painted = write_png(buffer, page, paint);
      break;
  }
  if (!painted) return fail("the figure could not be drawn; there may be too little memory");
  if (format == FileFormat::pdf) blank_dates(buffer.buffer());
  return buffer.data();
}

Result<double> width_in_mm(std::string_view text) {
  const auto venue = std::ranges::find(venues, text, &Venue::key);
  if (venue != venues.end()) return venue->width_mm;
  const std::optional<double> mm = number_in(text);
  if (!mm) {
    return fail("--width: '{}' is neither lncs, acm, acl nor a number of millimetres.",
                in_a_sentence(text));
  }
  return *mm;
}

Result<AxisRange> parse_range(std::string_view option, std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::optional<double> low = number_in(text.substr(0, colon));
  const std::optional<double> high =
      colon == std::string_view::npos ? std::nullopt : number_in(text.substr(colon + 1));
  if (!low || !high || *low >= *high) {
    return fail("{}: '{}' is not a range; write LOW:HIGH, such as 64:1024.", option,
                in_a_sentence(text));
  }
  return AxisRange{*low, *high};
}

Status check_options(const FigureOptions& options) {
  if (!(options.width_mm >= 30 && options.width_mm <= 2000)) {
    return fail("a figure's width must be between 30 and 2000 mm, not {}", options.width_mm);
  }
  if (!(options.height_mm == 0 || (options.height_mm >= 20 && options.height_mm <= 2000))) {
    return fail("a figure's height must be between 20 and 2000 mm, not {}", options.height_mm);
  }
  if (!(options.font_pt >= 4 && options.font_pt <= 40)) {
    return fail("a figure's font size must be between 4 and 40 pt, not {}", options.font_pt);
  }
  if (!(options.png_dpi >= 10 && options.png_dpi <= 4800)) {
    return fail("a picture's dots per inch must be between 10 and 4800, not {}", options.png_dpi);
  }
  return {};
}

void draw_soon(const Printable& what, std::function<void()> draw) {
  if (what.on_application_thread) {
    QMetaObject::invokeMethod(QCoreApplication::instance(), std::move(draw), Qt::QueuedConnection);
  } else {
    QThreadPool::globalInstance()->start(std::move(draw));
  }
}

Files files_of(const std::filesystem::path& path, const FigureOptions& options) {
  Files files{path};
  for (const auto& [wanted, ending] : {std::pair(options.csv, ".csv"), {options.tex, ".tex"}}) {
    if (wanted) files.push_back(std::filesystem::path(path).replace_extension(ending));
  }
  return files;
}

Result<Files> write_printable(const Printable& what, const std::filesystem::path& path,
                              const FigureOptions& options) {
  const bool is_unnamed = is_stream(path) && !path.has_extension();
  const Result<FileFormat> format = is_unnamed ? FileFormat::pdf : format_of(path);
  if (!format) return tl::unexpected(format.error());
  if (const Status checked = check_options(options); !checked) {
    return tl::unexpected(checked.error());
  }
  if (is_stream(path) && (options.csv || options.tex)) {
    return fail(
        "{}: --csv and --tex write files that are named after the figure; give a file name, or "
        "remove --csv and --tex",
        path.string());
  }
  const Files files = files_of(path, options);
  for (const std::filesystem::path& file : files) {
    if (Status allowed = may_be_written(file, what.inputs, Streams::allowed); !allowed)
      return tl::unexpected(allowed.error());
  }
  const Result<LaidOut> page = what.lay_out(options, *format != FileFormat::png);
  if (!page) return fail("{}: {}", path.string(), page.error().message);
  const FilePage file_page{.size = page->size,
                           .title = QString::fromStdString(what.title),
                           .description = QString::fromStdString(what.provenance),
                           .png_dpi = options.png_dpi};
  const Result<QByteArray> drawn = draw_bytes(*format, file_page, page->paint);
  if (!drawn) return fail("{}: {}", path.string(), drawn.error().message);

  std::vector<std::string> texts{drawn->toStdString()};
  if (options.csv) {
    const Result<std::string> csv = what.csv(options);
    if (!csv) return fail("{}: {}", files[texts.size()].string(), csv.error().message);
    texts.push_back(*csv);
  }
  if (options.tex) {
    const Result<std::string> tex = tex_snippet(what, path, options);
    if (!tex) return tl::unexpected(tex.error());
    texts.push_back(*tex);
  }
  std::vector<FileText> all;
  for (std::size_t i = 0; i < files.size(); ++i) all.push_back({files[i], texts[i]});
  if (Status written = write_files(all, Streams::allowed); !written)
    return tl::unexpected(written.error());
  return files;
}

Result<std::string> tex_snippet(const Printable& what, const std::filesystem::path& figure,
                                const FigureOptions& options) {
  const Result<FileFormat> format = format_of(figure);
  if (!format) return tl::unexpected(format.error());
  if (*format == FileFormat::svg) {
    return fail("{}: LaTeX cannot include SVG; write .pdf or .png, or omit the .tex",
                figure.string());
  }
  const std::string name = figure.filename().string();
  if (!std::ranges::all_of(name, is_plain)) {
    return fail(
        "{}: LaTeX cannot include a file with this name; use ASCII letters, digits, spaces, - and "
        "_",
        figure.string());
  }
  std::vector<std::string> sentences;
  for (const std::string& text : {what.about, what.title, what.warning, options.caption}) {
    if (!text.empty())
      sentences.push_back(sentence(report::latex_escaped(report::without_folders(text))));
  }
  return fmt::format(
      "% {}\n"
      "\\begin{{figure}}\n"
      "  \\centering\n"
      "  \\includegraphics[width={}mm]{{{}}}\n"
      "  \\caption{{{}}}\n"
      "  \\label{{fig:{}}}\n"
      "\\end{{figure}}\n",
      report::one_line(what.provenance), options.width_mm, name, fmt::join(sentences, " "),
      tex_label(figure.stem().string()));
}

}  // namespace attnscope::charts
