#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The content of an SVG file for tests: whether it is well-formed, its texts, and the bounding
// boxes of everything that it draws, in units of the view box.

#include <QFontMetricsF>
#include <QRectF>
#include <QRegularExpression>
#include <QString>
#include <QStringList>
#include <QTransform>
#include <QXmlStreamReader>
#include <optional>
#include <vector>

#include "app/drawing/chart_style.h"

namespace attnscope::charts {

struct SvgPage {
  bool well_formed = false;
  QRectF view_box;
  QStringList texts;
  QStringList font_families;
  std::vector<QRectF> boxes;
  int images = 0;

  /// The first box outside the view box.
  [[nodiscard]] std::optional<QRectF> outside() const {
    const QRectF allowed = view_box.adjusted(-1, -1, 1, 1);
    for (const QRectF& box : boxes) {
      if (!allowed.contains(box.topLeft()) || !allowed.contains(box.bottomRight())) return box;
    }
    return std::nullopt;
  }
};

inline std::vector<double> numbers_in(const QString& text) {
  static const QRegularExpression number(R"([-+]?\d*\.?\d+(?:[eE][-+]?\d+)?)");
  std::vector<double> numbers;
  for (auto it = number.globalMatch(text); it.hasNext();) {
    numbers.push_back(it.next().captured().toDouble());
  }
  return numbers;
}

inline QRectF box_of_points(const std::vector<double>& xy) {
  QPolygonF points;
  for (std::size_t i = 0; i + 1 < xy.size(); i += 2) points << QPointF(xy[i], xy[i + 1]);
  return points.boundingRect();
}

inline SvgPage read_svg(const QByteArray& bytes) {
  SvgPage page;
  QXmlStreamReader xml(bytes);
  std::vector<QTransform> transforms{QTransform()};
  while (!xml.atEnd()) {
    const auto token = xml.readNext();
    if (token == QXmlStreamReader::EndElement) transforms.pop_back();
    if (token != QXmlStreamReader::StartElement) continue;
    const auto value = [&](const char* name) {
      return xml.attributes().value(QLatin1String(name)).toString();
    };
    QTransform transform = transforms.back();
    if (const std::vector<double> m = numbers_in(value("transform")); m.size() == 6) {
      transform = QTransform(m[0], m[1], m[2], m[3], m[4], m[5]) * transform;
    }
    transforms.push_back(transform);
    const QString name = xml.name().toString();
    QRectF box;
    if (name == "svg") {
      const std::vector<double> v = numbers_in(value("viewBox"));
      if (v.size() == 4) page.view_box = QRectF(v[0], v[1], v[2], v[3]);
    } else if (name == "polyline" || name == "polygon") {
      box = box_of_points(numbers_in(value("points")));
    } else if (name == "path") {
      box = box_of_points(numbers_in(value("d")));
    } else if (name == "rect" || name == "image") {
      box = QRectF(value("x").toDouble(), value("y").toDouble(), value("width").toDouble(),
                   value("height").toDouble());
      page.images += name == "image" ? 1 : 0;
    } else if (name == "circle") {
      const double r = value("r").toDouble();
      box = QRectF(value("cx").toDouble() - r, value("cy").toDouble() - r, 2 * r, 2 * r);
    } else if (name == "text") {
      const double x = value("x").toDouble();
      const double y = value("y").toDouble();
      const double size = value("font-size").toDouble();
      page.font_families << value("font-family");
      const QString text = xml.readElementText();
      transforms.pop_back();
      page.texts << text;
      box = QRectF(x, y - size, QFontMetricsF(figure_font(size)).horizontalAdvance(text), size);
    } else {
      continue;
    }
    page.boxes.push_back(transform.mapRect(box));
  }
  page.well_formed = !xml.hasError();
  return page;
}

}  // namespace attnscope::charts
