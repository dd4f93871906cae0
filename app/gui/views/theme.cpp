// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/theme.h"

#include <QApplication>
#include <QFile>
#include <QPainter>
#include <QPixmap>
#include <QProxyStyle>
#include <QSettings>
#include <QStyleOption>
#include <QSvgRenderer>
#include <QTabBar>
#include <algorithm>
#include <cmath>

#include "app/drawing/chart_style.h"

namespace attnscope::gui {
namespace {

const QString theme_names[] = {QStringLiteral("system"), QStringLiteral("light"),
                               QStringLiteral("dark")};

struct Ground {
  QColor window, base, raised, text, faint, border, accent, link, disabled;
};

Ground light_ground() {
  return {.window = QColor(0xf3, 0xf4, 0xf6),
          .base = Qt::white,
          .raised = QColor(0xfb, 0xfb, 0xfc),
          .text = QColor(0x1b, 0x1d, 0x21),
          .faint = QColor(0x5a, 0x60, 0x69),
          .border = QColor(0xc4, 0xc8, 0xce),
          .accent = QColor(0x1f, 0x5f, 0xa8),
          .link = QColor(0x0b, 0x5c, 0xad),
          .disabled = QColor(0x8b, 0x90, 0x98)};
}

Ground dark_ground() {
  return {.window = QColor(0x25, 0x27, 0x2b),
          .base = QColor(0x1e, 0x1f, 0x22),
          .raised = QColor(0x34, 0x37, 0x3d),
          .text = QColor(0xe8, 0xe9, 0xec),
          .faint = QColor(0xa9, 0xae, 0xb7),
          .border = QColor(0x45, 0x49, 0x50),
          .accent = QColor(0x2f, 0x6f, 0xbd),
          .link = QColor(0x7c, 0xb7, 0xff),
          .disabled = QColor(0x7d, 0x82, 0x8b)};
}

QPalette palette_of(const Ground& ground) {
  QPalette palette(ground.raised, ground.window);
  palette.setColor(QPalette::Window, ground.window);
  palette.setColor(QPalette::Base, ground.base);
  palette.setColor(QPalette::AlternateBase, ground.window);
  palette.setColor(QPalette::Button, ground.raised);
  palette.setColor(QPalette::ToolTipBase, ground.raised);
  palette.setColor(QPalette::Mid, ground.border);
  palette.setColor(QPalette::Dark, ground.border.darker(130));
  palette.setColor(QPalette::Highlight, ground.accent);
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, ground.link);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText,
                          QPalette::ToolTipText, QPalette::BrightText}) {
    palette.setColor(role, ground.text);
    palette.setColor(QPalette::Disabled, role, ground.disabled);
  }
  palette.setColor(QPalette::PlaceholderText, ground.faint);
  return palette;
}

/// Fusion frames check boxes and fields in a darker shade of the window, which is invisible in a
/// dark one. Layouts use the distances of `space`; text keeps a distance from a button's frame and
/// from the next column, and is elided inside a list's frame.
class FramedStyle : public QProxyStyle {
 public:
  FramedStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

  int pixelMetric(PixelMetric metric, const QStyleOption* option,
                  const QWidget* widget) const override {
    switch (metric) {
      case PM_LayoutHorizontalSpacing:
      case PM_LayoutVerticalSpacing:
        return space::gap;
      case PM_LayoutLeftMargin:
      case PM_LayoutTopMargin:
      case PM_LayoutRightMargin:
      case PM_LayoutBottomMargin:
        return widget == nullptr || widget->isWindow() ? space::margin : 0;
      case PM_TabBarTabHSpace: {
        // Large labels that cannot be hidden use the space around them.
        constexpr int large = 20;  // pixels
        const auto* tabs = qobject_cast<const QTabBar*>(widget);
        const bool is_tight = tabs != nullptr && !tabs->usesScrollButtons() && !tabs->expanding() &&
                              tabs->fontInfo().pixelSize() > large;
        return is_tight ? space::gap : QProxyStyle::pixelMetric(metric, option, widget);
      }
      case PM_FocusFrameHMargin:  // the text's margin is this plus one pixel
        return cell_margin - 1;
      default:
        return QProxyStyle::pixelMetric(metric, option, widget);
    }
  }

  QSize sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents,
                         const QWidget* widget) const override {
    QSize size = QProxyStyle::sizeFromContents(type, option, contents, widget);
    if (type == CT_HeaderSection && is_above_cells(option)) size.rwidth() += 2 * header_room;
    const auto* button = qstyleoption_cast<const QStyleOptionButton*>(option);
    if (type == CT_PushButton && button != nullptr && !button->text.isEmpty())
      size.setWidth(std::max(size.width(), contents.width() + 2 * space::margin));
    return size;
  }

  void drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                   const QWidget* widget) const override {
    if (const auto* list = qstyleoption_cast<const QStyleOptionComboBox*>(option);
        element == CE_ComboBoxLabel && list != nullptr) {
      QStyleOptionComboBox elided = *list;  // Fusion cuts words
      const int room = subControlRect(CC_ComboBox, list, SC_ComboBoxEditField, widget).width() - 2;
      elided.currentText = list->fontMetrics.elidedText(list->currentText, Qt::ElideRight, room);
      return QProxyStyle::drawControl(element, &elided, painter, widget);
    }
    if (element != CE_HeaderLabel || !is_above_cells(option) ||
        option->rect.width() < 8 * header_room)  // above small pictures
      return QProxyStyle::drawControl(element, option, painter, widget);
    QStyleOptionHeader label = *qstyleoption_cast<const QStyleOptionHeader*>(option);
    label.rect.adjust(header_room, 0, -header_room, 0);
    QProxyStyle::drawControl(element, &label, painter, widget);
  }

  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                     const QWidget* widget) const override {
    QProxyStyle::drawPrimitive(element, option, painter, widget);
    if (element == PE_IndicatorCheckBox) frame(*option, faint_text(option->palette), painter);
    const auto* panel = qstyleoption_cast<const QStyleOptionFrame*>(option);
    const bool has_frame = panel != nullptr && panel->lineWidth > 0;  // not in a spin box
    if (element == PE_PanelLineEdit && has_frame)
      frame(*option, hairline(option->palette), painter);
  }

  void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                          QPainter* painter, const QWidget* widget) const override {
    QProxyStyle::drawComplexControl(control, option, painter, widget);
    const auto* list = qstyleoption_cast<const QStyleOptionComboBox*>(option);
    if (control == CC_SpinBox || (list != nullptr && list->editable))
      frame(*option, hairline(option->palette), painter);
  }

 private:
  static constexpr int cell_margin = 5, header_room = 3;  // in addition to Fusion's two pixels

  static bool is_above_cells(const QStyleOption* option) {
    const auto* header = qstyleoption_cast<const QStyleOptionHeader*>(option);
    return header != nullptr && header->orientation == Qt::Horizontal;
  }

  static void frame(const QStyleOption& option, const QColor& color, QPainter* painter) {
    const bool has_focus = (option.state & State_HasFocus) != 0;  // Fusion's frame is then blue
    if (!is_dark(option.palette) || has_focus) return;
    painter->save();
    painter->setPen(color);
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(option.rect.adjusted(0, 0, -1, -1));
    painter->restore();
  }
};

/// The desktop's palette, before any choice was made.
const QPalette& desktop_palette() {
  static const QPalette palette = QApplication::palette();
  return palette;
}

}  // namespace

QString name_of(Theme theme) {
  return theme_names[static_cast<std::size_t>(theme)];
}

Theme theme_named(const QString& name) {
  const auto found = std::ranges::find(theme_names, name);
  return found == std::end(theme_names) ? Theme::system
                                        : static_cast<Theme>(found - std::begin(theme_names));
}

void apply_theme(Theme theme) {
  const bool dark_desktop = is_dark(desktop_palette());
  const bool dark = theme == Theme::system ? dark_desktop : theme == Theme::dark;
  QApplication::setStyle(new FramedStyle);
  QApplication::setPalette(palette_of(dark ? dark_ground() : light_ground()));
}

const QList<int>& text_sizes() {
  static const QList<int> sizes{80, 90, 100, 110, 125, 150, 175, 200};
  return sizes;
}

int stored_text_size() {
  const int kept = QSettings().value(QStringLiteral("window/text_size")).toInt();
  return text_sizes().contains(kept) ? kept : 100;
}

void store_text_size(int percent) {
  QSettings().setValue(QStringLiteral("window/text_size"), percent);
}

void apply_text_size() {
  static const double desktop_points = QApplication::font().pointSizeF();
  QFont font = QApplication::font();
  font.setPointSizeF(desktop_points * stored_text_size() / 100);
  QApplication::setFont(font);
}

QFont sized(QFont font, TextSize size) {
  constexpr double small = 0.88, title = 1.2;
  if (size == TextSize::small) font.setPointSizeF(font.pointSizeF() * small);
  if (size == TextSize::title) font.setPointSizeF(font.pointSizeF() * title);
  if (size != TextSize::small) font.setBold(true);
  return font;
}

void set_text(QWidget* widget, TextSize size) {
  widget->setFont(sized(widget->font(), size));
}

bool is_dark(const QPalette& palette) {
  return charts::theme_of(palette) == charts::ChartTheme::dark;
}

QColor faint_text(const QPalette& palette) {
  return palette.color(QPalette::PlaceholderText);
}

QColor error_text(const QPalette& palette) {
  return is_dark(palette) ? QColor(0xff, 0x9d, 0x91) : QColor(0xb0, 0x1c, 0x14);
}

QColor text_on(const QColor& ground) {
  const auto linear = [](double value) {
    return value <= 0.03928 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
  };
  const double luminance = 0.2126 * linear(ground.redF()) + 0.7152 * linear(ground.greenF()) +
                           0.0722 * linear(ground.blueF());
  constexpr double as_far_from_black_as_from_white = 0.179;
  return luminance > as_far_from_black_as_from_white ? Qt::black : Qt::white;
}

QColor good_text(const QPalette& palette) {
  return is_dark(palette) ? QColor(0x7f, 0xd6, 0x9b) : QColor(0x14, 0x6c, 0x3a);
}

QColor error_ground(const QPalette& palette) {
  return is_dark(palette) ? QColor(0x47, 0x25, 0x25) : QColor(0xfd, 0xe8, 0xe6);
}

QColor info_ground(const QPalette& palette) {
  return is_dark(palette) ? QColor(0x22, 0x36, 0x4d) : QColor(0xe3, 0xee, 0xfa);
}

QColor hairline(const QPalette& palette) {
  return palette.color(QPalette::Mid);
}

QIcon line_icon(const QString& name, const QPalette& palette) {
  QFile file(QStringLiteral(":/attnscope/icons/%1.svg").arg(name));
  if (!file.open(QIODevice::ReadOnly)) return {};
  QByteArray drawing = file.readAll();
  drawing.replace("currentColor", palette.color(QPalette::WindowText).name().toUtf8());
  QSvgRenderer renderer(drawing);
  QIcon icon;
  for (const int size : {24, 48, 96}) {
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter);
    painter.end();
    icon.addPixmap(pixmap);
  }
  return icon;
}

}  // namespace attnscope::gui
