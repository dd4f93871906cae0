#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The run list, or the trash: live runs on top, then newest first. New snapshots change, insert and
// remove single rows, so that the view keeps its selection while a run grows. A name typed in place
// is asked for with a signal and shown when the store has it. And the runs of it that a person
// looks for: every word of the search stands somewhere in a run's name, tags, device, date or note,
// and it has every chosen tag.

#include <QAbstractListModel>
#include <QSet>
#include <QSortFilterProxyModel>
#include <QStringList>
#include <vector>

#include "app/gui/session/snapshot.h"

namespace attnscope::gui {

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
  };

  using QAbstractListModel::QAbstractListModel;

  void set_runs(const RunListPointer& runs);
  void set_entries(const std::vector<RunEntry>& entries);
  /// Names can be typed in place.
  void set_editable(bool editable) { editable_ = editable; }
  /// What the check of the whole database has found.
  void mark_damaged(const QStringList& uuids);
  /// Every tag that some run has, in alphabetical order.
  [[nodiscard]] QStringList tags() const;
  /// False until the store has been read for the first time.
  [[nodiscard]] bool is_known() const { return known_; }
  [[nodiscard]] const RunEntry* entry(const QString& uuid) const;
  [[nodiscard]] QModelIndex index_of(const QString& uuid) const;
  /// The newest live run, else nothing.
  [[nodiscard]] const RunEntry* live() const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void rename_asked(const QString& uuid, const QString& name);

 private:
  [[nodiscard]] int row_of(const std::string& uuid, int from) const;
  std::vector<RunEntry> runs_;
  QSet<QString> damaged_;
  bool known_ = false;
  bool editable_ = false;
};

/// "running", "paused", "done", ... with what went wrong: "done, 2 cells failed", "damaged, done".
[[nodiscard]] QString status_words(const RunEntry& entry);
/// Everything worth knowing about a run at a glance, in lines: name, note, what, where, when.
[[nodiscard]] QString run_tip(const RunEntry& entry);
/// What a search looks through: name, sweep, tags, device, date, status and note.
[[nodiscard]] QString run_search_words(const RunEntry& entry);

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
