#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The lines of a list of runs: one's own, with live runs on top and then the newest first, those in
// the trash, or what was published. New snapshots change, insert and remove single rows, so that
// the view keeps its selection while a run grows. A name typed in place is asked for with a signal
// and shown when the store has it.

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

/// A line of a list: a run of the database, one that ships with the program, or a paper's table.
struct Listed {
  RunEntry entry = {};
  QString file = {};                                 // of a run that ships
  std::optional<report::PublishedTable> table = {};  // then there is no run
};

class RunListModel : public QAbstractListModel {
  Q_OBJECT
 public:
  enum Role {
    uuid_role = Qt::UserRole + 1,
    status_role,    // RunStatus as int
    detail_role,    // the second line: when, where, how much
    fraction_role,  // of the heats done, 0 ... 1
    search_role,    // every word a person may look for
    tags_role,      // parted by spaces
    damaged_role,   // some stored value does not match its fingerprint
    nothing_role,   // no cell was measured
  };

  using QAbstractListModel::QAbstractListModel;

  void set_runs(const RunListPointer& runs);
  void set_entries(const std::vector<RunEntry>& entries);
  /// The papers' tables, then these.
  void set_published(const std::vector<PublishedRun>& runs);
  /// Names can be typed in place.
  void set_editable(bool editable) { editable_ = editable; }
  /// What the check of the whole database has found.
  void mark_damaged(const QStringList& uuids);
  /// Every tag that some run has, in alphabetical order.
  [[nodiscard]] QStringList tags() const;
  /// False until the store has been read for the first time.
  [[nodiscard]] bool is_known() const { return known_; }
  /// Of the run with that UUID or the table with that id.
  [[nodiscard]] const Listed* listed(const QString& key) const;
  [[nodiscard]] QModelIndex index_of(const QString& key) const;
  [[nodiscard]] const RunEntry* entry(const QString& uuid) const;
  /// The UUID of the first run; empty: there is none.
  [[nodiscard]] QString first_run() const;
  /// The newest live run, else nothing.
  [[nodiscard]] const RunEntry* live() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void rename_asked(const QString& uuid, const QString& name);

 private:
  void set_rows(std::vector<Listed> rows);
  [[nodiscard]] int row_of(std::string_view key, int from) const;

  std::vector<Listed> rows_;
  QSet<QString> damaged_;
  bool known_ = false;
  bool editable_ = false;
};

/// "running", "paused", "done", ... with what went wrong: "done, 2 cells failed", "damaged, done".
[[nodiscard]] QString status_words(const RunEntry& entry);

/// The runs that a person looks for: every word of the search stands somewhere in a run's name,
/// tags, device, date or note, and it has every chosen tag.
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
  QStringList words_, tags_;
};

}  // namespace attnscope::gui
