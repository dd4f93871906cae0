#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Light, dark or the desktop's setting, with our own palettes on the Fusion style, which uses the
// palette's colours.

#include <QColor>
#include <QFont>
#include <QIcon>
#include <QList>
#include <QMargins>
#include <QPalette>
#include <QString>

class QWidget;

namespace attnscope::gui {

enum class Theme { system, light, dark };
[[nodiscard]] QString name_of(Theme theme);
[[nodiscard]] Theme theme_named(const QString& name);

/// Must be called before the first widget is shown, and again when the user changes the theme.
void apply_theme(Theme theme);

/// Text sizes to choose from, in percent of the desktop's size, and the stored choice.
[[nodiscard]] const QList<int>& text_sizes();
[[nodiscard]] int stored_text_size();
void store_text_size(int percent);
/// Must be called before the first widget is made; existing headings keep their size.
void apply_text_size();

/// The spacings of the whole window, in px. A layout has `gap` between its parts and, as a window's
/// top-level layout, `margin` around them by default: the style provides both.
namespace space {
inline constexpr int hair = 2, gap = 6, margin = 12;
inline constexpr QMargins around{margin, margin, margin, margin};
}  // namespace space

/// `small`: details; `heading`: bold headings of the parts of a page, in the size of its text;
/// `title`: the page's title.
enum class TextSize { small, heading, title };
[[nodiscard]] QFont sized(QFont font, TextSize size);
void set_text(QWidget* widget, TextSize size);

[[nodiscard]] bool is_dark(const QPalette& palette);

/// De-emphasized text, still readable (4.5:1) on the palette's window and base colours.
[[nodiscard]] QColor faint_text(const QPalette& palette);
[[nodiscard]] QColor error_text(const QPalette& palette);
[[nodiscard]] QColor good_text(const QPalette& palette);
/// Black or white, whichever has the higher contrast (WCAG 2.1 relative luminance).
[[nodiscard]] QColor text_on(const QColor& ground);
[[nodiscard]] QColor error_ground(const QPalette& palette);
[[nodiscard]] QColor info_ground(const QPalette& palette);
[[nodiscard]] QColor hairline(const QPalette& palette);

/// A compiled-in line icon, in the palette's text colour.
[[nodiscard]] QIcon line_icon(const QString& name, const QPalette& palette);

}  // namespace attnscope::gui
