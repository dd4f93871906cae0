// SPDX-License-Identifier: GPL-3.0-or-later
//
// The store reader's requests: what a person asks of the database, tried again while it is locked.
#include <algorithm>

#include "app/gui/session/compare_runs.h"
#include "app/gui/session/store_reader.h"
#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

std::vector<RunId> ids_of(const QStringList& uuids) {
  std::vector<RunId> ids;
  ids.reserve(static_cast<std::size_t>(uuids.size()));
  for (const QString& uuid : uuids) ids.push_back(RunId{uuid.toStdString()});
  return ids;
}

std::string changed_tag(const std::string& tag, const QStringList& added,
                        const QStringList& removed) {
  std::vector<std::string> kept = tag_words(tag);
  for (const QString& word : removed) std::erase(kept, word.toStdString());
  std::string text = tag_of(kept);
  for (const QString& word : added) text += ' ' + word.toStdString();
  return tag_of(tag_words(text));
}

}  // namespace

bool StoreReader::writable() {
  if (store_ && !read_only_) return true;
  Q_EMIT failed(store_ ? tr("%1 is a run file and opened read-only: import it into your database "
                            "to change it.")
                             .arg(words(database_.string()))
                       : tr("The database is not open."));
  return false;
}

void StoreReader::ask(std::function<Status()> request) {
  requests_.push_back({std::move(request)});
  // Later requests wait behind one that waits: they may depend on it.
  if (requests_.size() == 1) ask_again();
}

void StoreReader::ask_again() {
  while (!requests_.empty()) {
    Request& first = requests_.front();
    const Status done = first.ask();
    if (!done && done.error().kind == ErrorKind::locked && ++first.tries < most_tries_)
      return wait_for_lock();
    requests_.pop_front();
    if (!done) Q_EMIT failed(words(done.error().message));
  }
  end_wait_if_free();
}

void StoreReader::words_changed(const QStringList& uuids) {
  read_list();
  if (shown_ && uuids.contains(shown_->uuid)) read_shown();
}

void StoreReader::describe_run(const QString& uuid, const RunWords& words) {
  if (!writable()) return;
  ask([this, uuid, words]() -> Status {
    Status described = store_->describe_run(RunId{uuid.toStdString()}, words);
    if (described) words_changed({uuid});
    return described;
  });
}

void StoreReader::change_tags(const QStringList& uuids, const QStringList& added,
                              const QStringList& removed) {
  if (!writable()) return;
  ask([this, uuids, added, removed]() -> Status {
    for (const RunId& id : ids_of(uuids)) {
      const Result<RunInfo> run = store_->find_run(id.uuid);
      if (!run) return tl::unexpected(run.error());
      const std::string tag = changed_tag(run->tag, added, removed);
      if (Status described = store_->describe_run(id, {.tag = tag}); !described) return described;
    }
    words_changed(uuids);
    return {};
  });
}

void StoreReader::put_in_trash(const QStringList& uuids) {
  if (!writable()) return;
  ask([this, uuids]() -> Status {
    Status put = store_->put_in_trash(ids_of(uuids));
    if (!put) return put;
    read_list();
    Q_EMIT trashed(uuids, tr("Put %1 in the trash.").arg(counted_runs(uuids.size())));
    return {};
  });
}

void StoreReader::take_from_trash(const QStringList& uuids) {
  if (!writable()) return;
  ask([this, uuids]() -> Status {
    Status taken = store_->take_from_trash(ids_of(uuids));
    if (!taken) return taken;
    read_list();
    Q_EMIT succeeded(tr("Took %1 out of the trash.").arg(counted_runs(uuids.size())));
    return {};
  });
}

void StoreReader::remove_runs(const QStringList& uuids) {
  if (!writable()) return;
  for (const QString& uuid : uuids) {
    ask([this, uuid]() -> Status {
      Status removed = store_->remove_run(RunId{uuid.toStdString()});
      if (!removed) return removed;
      if (shown_ && shown_->uuid == uuid) shown_.reset();
      read_list();
      return {};
    });
  }
}

void StoreReader::empty_trash() {
  if (!writable()) return;
  ask([this]() -> Status {
    const Result<int> removed = store_->empty_trash();
    if (!removed) return tl::unexpected(removed.error());
    read_list();
    Q_EMIT succeeded(tr("Removed %1 for good.").arg(counted_runs(*removed)));
    return {};
  });
}

void StoreReader::compare_runs(const QString& uuid_a, const QString& uuid_b) {
  comparing_.start(
      [this, a = RunInFile{file_of(uuid_a), uuid_a}, b = RunInFile{file_of(uuid_b), uuid_b}] {
        Q_EMIT compared(gui::compare_runs(a, b));
      });
}

void StoreReader::export_runs(const QStringList& uuids, const QString& file) {
  if (!store_) return;
  ask([this, uuids, file]() -> Status {
    Status written = store_->export_runs(ids_of(uuids), std::filesystem::path(file.toStdString()));
    if (!written) return written;
    Q_EMIT succeeded(tr("Exported %1 to %2").arg(counted_runs(uuids.size()), file));
    return {};
  });
}

void StoreReader::import_file(const QString& file) {
  if (!writable()) return;
  ask([this, file]() -> Status {
    const Result<Store::Imported> imported =
        store_->import_file(std::filesystem::path(file.toStdString()));
    if (!imported) return tl::unexpected(imported.error());
    read_list();
    Q_EMIT succeeded(tr("Imported %1, %2 already there")
                         .arg(counted_runs(imported->added))
                         .arg(imported->already_there));
    if (!imported->runs.empty()) Q_EMIT file_imported(file, words(imported->runs.back().uuid));
    return {};
  });
}

}  // namespace attnscope::gui
