// SPDX-License-Identifier: GPL-3.0-or-later
//
// The store reader's look at the runs that ship with the program.
#include <algorithm>
#include <utility>

#include "app/gui/session/store_reader.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

bool holds(const std::vector<RunEntry>& entries, const std::string& uuid) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const RunEntry& entry) { return entry.info.id.uuid == uuid; });
}

}  // namespace

void StoreReader::read_published(const std::filesystem::path& folder) {
  std::error_code ignored;  // a folder that is not there ships no runs
  to_publish_.clear();
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    std::filesystem::path file = entry.path() / "run.attn";
    if (std::filesystem::exists(file, ignored)) to_publish_.push_back(std::move(file));
  }
  std::sort(to_publish_.begin(), to_publish_.end());
  publishing_ = std::make_shared<PublishedSnapshot>();
  read_next_published();
}

void StoreReader::read_next_published() {
  if (to_publish_.empty()) {
    published_ = std::exchange(publishing_, nullptr);
    Q_EMIT published_read(published_);
    return;
  }
  const std::filesystem::path file = to_publish_.front();
  to_publish_.pop_front();
  const Result<Store> store = Store::open(file, Store::Mode::read_only);
  const auto runs = store ? store->runs() : tl::unexpected(store.error());
  if (runs) {
    for (const RunInfo& info : *runs)
      publishing_->runs.push_back({words(file.string()), {info, std::nullopt}});
  } else {
    Q_EMIT failed(words(runs.error().message));
  }
  QMetaObject::invokeMethod(
      this, [this] { read_next_published(); }, Qt::QueuedConnection);
}

std::filesystem::path StoreReader::file_of(const QString& uuid) const {
  const std::string wanted = uuid.toStdString();
  if (!published_ || (list_ && (holds(list_->runs, wanted) || holds(list_->trash, wanted))))
    return database_;
  const auto found =
      std::find_if(published_->runs.begin(), published_->runs.end(),
                   [&](const PublishedRun& run) { return run.entry.info.id.uuid == wanted; });
  return found == published_->runs.end() ? database_
                                         : std::filesystem::path(found->file.toStdString());
}

const Store* StoreReader::store_of(const QString& uuid) {
  const std::filesystem::path file = file_of(uuid);
  if (file == database_) return store_ ? &*store_ : nullptr;
  if (!published_store_ || published_store_->file() != file) {
    Result<Store> store = Store::open(file, Store::Mode::read_only);
    if (!store) {
      Q_EMIT failed(words(store.error().message));
      return nullptr;
    }
    published_store_ = std::move(*store);
  }
  return &*published_store_;
}

}  // namespace attnscope::gui
