#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The lines of a list of runs: the user's own, with live runs on top and then the newest first;
// those in the trash; or published runs. New snapshots change, insert and remove single rows, so
// that the view keeps its selection while a run grows. A name edited in place is requested with a
// signal and shown once the store contains it.

#include <QAbstractListModel>
#include <QSet>
#include <QSortFilterProxyModel>
#include <QStringList>
#include <optional>
#include <string_view>
#include <vector>

#include "app/gui/session/snapshot.h"
#include "engine/report/published.h"

namespace attnscope::gui {

/// A line of a list: a run of the database, a shipped run, or a paper's table.
struct Listed {
  RunEntry entry = {};
  QString file = {};                                 // of a shipped run
  std::optional<report::PublishedTable> table = {};  // if set, there is no run
};

class RunListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role {
    uuid_role = Qt::UserRole + 1,
    status_role,    // RunStatus as int
    detail_role,    // the second line: time, machine and size
    fraction_role,  // fraction of the heats done, 0 ... 1
    search_role,    // all searchable words
    tags_role,      // separated by spaces
    damaged_role,   // a stored value does not match its fingerprint
    nothing_role,   // no cell was measured
  };

  using QAbstractListModel::QAbstractListModel;

  void set_runs(const RunListPointer& runs);
  void set_entries(const std::vector<RunEntry>& entries);
  /// Shows the papers' tables, then these runs.
  void set_published(const std::vector<PublishedRun>& runs);
  /// Whether names can be edited in place.
  void set_editable(bool editable) { editable_ = editable; }
  /// Marks the runs in which the check of the whole database found damage.
  void mark_damaged(const QStringList& uuids);
  /// All tags of all runs, in alphabetical order.
  [[nodiscard]] QStringList tags() const;
  /// False until the store has been read for the first time.
  [[nodiscard]] bool is_known() const { return known_; }
  /// The run with that UUID or the table with that id.
  [[nodiscard]] const Listed* listed(const QString& key) const;
  [[nodiscard]] QModelIndex index_of(const QString& key) const;
  [[nodiscard]] const RunEntry* entry(const QString& uuid) const;
  /// The UUID of the first run; empty: there is none.
  [[nodiscard]] QString first_run() const;
  /// The newest live run; null if there is none.
  [[nodiscard]] const RunEntry* live() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void rename_requested(const QString& uuid, const QString& name);

 private:
  void set_rows(std::vector<Listed> rows);
  [[nodiscard]] int row_of(std::string_view key, int from) const;

  std::vector<Listed> rows_;
  QSet<QString> damaged_;
  bool known_ = false;
  bool editable_ = false;
};

/// "running", "paused", "done", ... with failures: "done, 2 cells failed", "damaged, done".
[[nodiscard]] QString status_text(const RunEntry& entry);

/// The runs that match a search: every word of the search occurs in the run's name, tags, device,
/// date or note, and the run has every selected tag.
///
///   filter.setSourceModel(runs);
///   filter.set_search("laptop 2026-01");
class RunFilter : public QSortFilterProxyModel {
  Q_OBJECT
 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

  void set_search(const QString& text);
  void set_tags(const QStringList& tags);
  [[nodiscard]] const QStringList& tags() const { return tags_; }

 protected:
  [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  QStringList search_words_, tags_;
};

}  // namespace attnscope::gui
