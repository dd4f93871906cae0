// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/rows_model.h"

#include <fmt/format.h>

#include "app/gui/session/text.h"

namespace attnscope::gui {

std::string number_text(double value) {
  return fmt::format("{:.9g}", value);
}

QString clipboard_text(const report::Sheet& sheet, report::TableFormat format) {
  return qstring(format == report::TableFormat::text ? report::write_tabbed(sheet)
                                                     : report::write_sheet(sheet, format));
}

}  // namespace attnscope::gui
