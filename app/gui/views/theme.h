#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Light or dark, or as the desktop is, in palettes of our own on the Fusion style, which draws what
// the palette says.

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

/// Must be called before the first widget is shown, and again when the person chooses.
void apply_theme(Theme theme);

/// Percent of the desktop's size of text that a person may choose, and the choice that is kept.
[[nodiscard]] const QList<int>& text_sizes();
[[nodiscard]] int kept_text_size();
void keep_text_size(int percent);
/// Before the first widget is made; widgets made earlier keep the size of their headings.
void apply_text_size();

/// The distances of the whole window, px. A layout has `gap` between its parts, and `margin` around
/// them where it fills a window of its own, without saying so: the style gives it.
namespace space {
inline constexpr int hair = 2, gap = 6, margin = 12;
inline constexpr QMargins around{margin, margin, margin, margin};
}  // namespace space

/// The sizes of text: details, text and bold headings over parts of a page, and its title.
enum class TextSize { small, heading, title };
[[nodiscard]] QFont sized(QFont font, TextSize size);
void set_text(QWidget* widget, TextSize size);

[[nodiscard]] bool is_dark(const QPalette& palette);

/// Text that stands back, still readable (4.5:1) on the palette's window and base colours.
[[nodiscard]] QColor faint_text(const QPalette& palette);
[[nodiscard]] QColor error_text(const QPalette& palette);
[[nodiscard]] QColor good_text(const QPalette& palette);
/// Black or white, whichever contrasts more with the ground (WCAG 2.1's relative luminance).
[[nodiscard]] QColor text_on(const QColor& ground);
[[nodiscard]] QColor error_ground(const QPalette& palette);
[[nodiscard]] QColor info_ground(const QPalette& palette);
[[nodiscard]] QColor hairline(const QPalette& palette);

/// One of the compiled-in line drawings, in the palette's text colour.
[[nodiscard]] QIcon line_icon(const QString& name, const QPalette& palette);

}  // namespace attnscope::gui
