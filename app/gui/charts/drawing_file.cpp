// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/charts/drawing_file.h"

#include <QBuffer>
#include <QGuiApplication>
#include <QHashFunctions>
#include <QImage>
#include <QMarginsF>
#include <QPageLayout>
#include <QPageSize>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QSvgGenerator>
#include <QUuid>
#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/sentences.h"

namespace attnscope::charts {
namespace {

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

Result<QByteArray> draw_bytes(FileFormat format, const FilePage& asked,
                              const std::function<void(QPainter&)>& paint) {
  assert(qGuiApp != nullptr && "make an OffscreenApplication first");
  FilePage page = asked;
  page.title = shown(page.title);
  page.description = shown(page.description);
  if (format == FileFormat::png) {
    const double side =
        std::max(page.size.width(), page.size.height()) * page.png_dpi / units_per_inch;
    if (!(page.png_dpi > 0) || side > largest_png_side) {
      return fail("{} dpi would make an image of {:.0f} pixels a side; the most is {:.0f}",
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
  if (!painted) return fail("it could not be drawn; there may be too little memory");
  if (format == FileFormat::pdf) blank_dates(buffer.buffer());
  return buffer.data();
}

}  // namespace attnscope::charts
