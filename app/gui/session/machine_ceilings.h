#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What this machine can reach, as the newest run that measured it says. Handed to pages as a value.

#include <QMetaType>
#include <QString>

#include "engine/heat/cell.h"

namespace attnscope::gui {

struct MachineCeilings {
  Ceilings rates;
  QString from;  // "run 3, kernels, on AMD EPYC 7763"
};

}  // namespace attnscope::gui

Q_DECLARE_METATYPE(attnscope::gui::MachineCeilings)
