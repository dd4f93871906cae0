// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/views/problem_label.h"

#include <QEvent>

#include "app/gui/views/theme.h"

namespace attnscope::gui {

ProblemLabel::ProblemLabel(const char* name, QWidget* parent) : QLabel(parent) {
  setObjectName(QLatin1String(name));
  setWordWrap(true);
  setTextFormat(Qt::PlainText);
  hide();
  tint();
}

void ProblemLabel::set_problem(const QString& sentence) {
  setText(sentence);
  setVisible(!sentence.isEmpty());
}

void ProblemLabel::changeEvent(QEvent* event) {
  // Of the application's palette, because tinting changes the label's own.
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) tint();
  QLabel::changeEvent(event);
}

void ProblemLabel::tint() {
  QPalette tinted = palette();
  const QColor color = error_text(tinted);
  if (tinted.color(foregroundRole()) == color) return;
  tinted.setColor(foregroundRole(), color);
  setPalette(tinted);
}

}  // namespace attnscope::gui
