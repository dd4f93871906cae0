#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The heats of a live run: which are done and their outcome, which is being measured, which wait.

#include <QMetaType>
#include <QString>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

/// A finished heat has the worst state of its cells; cells that an implementation does not support
/// count only if nothing else was measured.
enum class HeatState : std::uint8_t {
  waiting,
  running,
  paused,
  done,
  too_large,
  wrong,
  crashed,
  timeout,
  skipped
};
inline constexpr int heat_states = 9;

struct HeatEntry {
  HeatState state = HeatState::waiting;
  QString point = {};    // what distinguishes it from the others: "512 tokens"
  QString outcome = {};  // "3 ok, 1 oom"; empty until it is done
  friend bool operator==(const HeatEntry&, const HeatEntry&) = default;
};

struct HeatsSnapshot {
  QString uuid;
  std::vector<HeatEntry> heats;   // in measurement order
  std::vector<std::string> keys;  // identities of the points; empty if no plan is stored
  int heats_done = -1;
};

using HeatsPointer = std::shared_ptr<const HeatsSnapshot>;

/// `before`: the previous snapshot, whose plan and finished heats are not read again; it is
/// returned itself if nothing is new. Null if the store cannot be read at the moment.
[[nodiscard]] HeatsPointer read_heats(const Store& store, const RunEntry& live,
                                      const HeatsPointer& before);

}  // namespace attnscope::gui

Q_DECLARE_METATYPE(attnscope::gui::HeatsPointer)
