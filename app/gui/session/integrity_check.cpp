// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/integrity_check.h"

#include <utility>

#include "app/gui/session/text.h"
#include "engine/store/store.h"

namespace attnscope::gui {

IntegrityCheck::IntegrityCheck(std::filesystem::path database, QObject* parent)
    : QThread(parent), database_(std::move(database)) {
  setObjectName(QStringLiteral("integrity"));
}

IntegrityCheck::~IntegrityCheck() {
  stop_ = true;
  wait();
}

void IntegrityCheck::run() {
  const Result<Store> store = Store::open(database_, Store::Mode::read_only);
  if (!store) return;  // the store thread says so, and why
  std::vector<RunId> damaged_runs;
  const Status sound = store->check_integrity(&stop_, &damaged_runs);
  // Who locks the database is no damage; the next window checks it.
  if (sound || stop_ || sound.error().kind == ErrorKind::locked) return;
  QStringList uuids;
  for (const RunId& run : damaged_runs) uuids.append(words(run.uuid));
  Q_EMIT damage_found(uuids);
  Q_EMIT damaged(words(sound.error().message));
}

}  // namespace attnscope::gui
