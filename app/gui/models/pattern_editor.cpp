// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_editor.h"

#include <QDir>
#include <QFileInfo>
#include <QUndoCommand>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/gui/session/text.h"
#include "base/json.h"
#include "base/open_file.h"
#include "base/written_file.h"
#include "engine/checkpoint/family_description.h"

namespace attnscope::gui {
namespace {

constexpr std::uintmax_t most_bytes = 1 << 20;

}  // namespace

PatternListModel::PatternListModel(QObject* parent) : QAbstractListModel(parent) {
  for (const AttentionPattern& pattern : built_in_patterns()) {
    entries_.push_back(
        {.id = next_id(), .pattern = pattern, .before = pattern, .file = {}, .ships = true});
  }
}

Result<int> PatternListModel::open_file(const QString& file) {
  const Result<std::string> text = read_text_file(file.toStdString(), "pattern file", most_bytes);
  if (!text) return tl::unexpected(text.error());
  if (const auto json = parse_json(*text); json.is_object() && json.contains("model_type"))
    return open_layers(file, *text);
  Result<AttentionPattern> pattern = parse_pattern(*text, file.toStdString());
  if (!pattern) return tl::unexpected(pattern.error());

  if (const int row = row_of_file(file); row >= 0) {
    PatternEntry& known = entries_[static_cast<std::size_t>(row)];
    known.pattern = known.before = *std::move(pattern);
    Q_EMIT dataChanged(index(row), index(row));
    return row;
  }
  add({.id = next_id(), .pattern = *pattern, .before = *pattern, .file = file});
  return rowCount() - 1;
}

Result<int> PatternListModel::open_layers(const QString& file, const std::string& config) {
  const auto model = read_model_config(config, file.toStdString());
  if (!model) return tl::unexpected(model.error());
  const std::string name = QFileInfo(file).absoluteDir().dirName().toStdString();
  const std::vector<AttentionPattern> patterns = layer_patterns(*model, name);
  for (const AttentionPattern& pattern : patterns) {
    if (!has_name(pattern.name))
      add({.id = next_id(), .pattern = pattern, .before = pattern, .file = {}});
  }
  return row_of_name(patterns.front().name);
}

Status PatternListModel::save(int row, const QString& file) {
  if (const int other = row_of_file(file); other >= 0 && other != row) {
    return fail("{} is open here as \"{}\"; choose another file.", file.toStdString(),
                title(other).toStdString());
  }
  PatternEntry& saved = entries_.at(static_cast<std::size_t>(row));
  if (Status written = write_file(file.toStdString(), pattern_json(saved.pattern) + '\n'); !written)
    return written;
  saved.file = file;
  saved.before = saved.pattern;
  Q_EMIT dataChanged(index(row), index(row));
  return {};
}

const PatternEntry& PatternListModel::entry(int row) const {
  return entries_.at(static_cast<std::size_t>(row));
}

int PatternListModel::row_of(int id) const {
  const auto found = std::ranges::find(entries_, id, &PatternEntry::id);
  return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
}

int PatternListModel::row_of_file(const QString& file) const {
  const QString whole = QFileInfo(file).absoluteFilePath();
  const auto found = std::ranges::find_if(entries_, [&](const PatternEntry& entry) {
    return !entry.file.isEmpty() && QFileInfo(entry.file).absoluteFilePath() == whole;
  });
  return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
}

QString PatternListModel::title(int row) const {
  const AttentionPattern& shown = pattern(row);
  return qstring(shown.title.empty() ? shown.name : shown.title);
}

int PatternListModel::row_of_name(const std::string& name) const {
  const auto found = std::ranges::find_if(
      entries_, [&](const PatternEntry& entry) { return entry.pattern.name == name; });
  return found == entries_.end() ? -1 : static_cast<int>(found - entries_.begin());
}

QList<int> PatternListModel::modified_rows() const {
  QList<int> rows;
  for (int row = 0; row < rowCount(); ++row) {
    if (entry(row).is_modified()) rows.append(row);
  }
  return rows;
}

void PatternListModel::add(PatternEntry entry) {
  const int row = rowCount();
  beginInsertRows({}, row, row);
  entries_.push_back(std::move(entry));
  endInsertRows();
}

void PatternListModel::remove(int id) {
  const int row = row_of(id);
  if (row < 0) return;
  beginRemoveRows({}, row, row);
  entries_.erase(entries_.begin() + row);
  endRemoveRows();
}

void PatternListModel::set_pattern(int id, const AttentionPattern& pattern) {
  const int row = row_of(id);
  if (row < 0 || entry(row).ships || entry(row).pattern == pattern) return;
  entries_[static_cast<std::size_t>(row)].pattern = pattern;
  Q_EMIT dataChanged(index(row), index(row));
}

int PatternListModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

QVariant PatternListModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const PatternEntry& shown = entry(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return shown.is_modified() ? title(index.row()) + QStringLiteral(" *") : title(index.row());
    case Qt::AccessibleTextRole:
      return shown.is_modified() ? tr("%1, not saved").arg(title(index.row())) : title(index.row());
    case Qt::ToolTipRole: {
      if (shown.ships) return qstring(shown.pattern.description);
      const QString place = shown.file.isEmpty() ? tr("No file yet") : shown.file;
      return shown.is_modified() ? tr("%1. Not saved: Ctrl+S saves it.").arg(place) : place;
    }
    default:
      return {};
  }
}

namespace {

constexpr std::int64_t first_stride = 30;  // of QDS-Transformer

const char* const no_pairs =
    "At least one group must attend to a group: a pattern without allowed pairs cannot be "
    "computed.";

/// Keeps the rules consistent: a stride exists only if sentences take part.
void settle_sentences(AttentionPattern& pattern, const LayoutItem& item) {
  if (!pattern.has_sentences()) {
    pattern.sentence_every.reset();
  } else if (!pattern.sentence_every && !item.sentences_given) {
    pattern.sentence_every = first_stride;
  }
}

}  // namespace

/// One undo step: from one state to another, and from a shipped pattern to its copy if this is the
/// first edit of it.
class PatternEdit : public QUndoCommand {
 public:
  PatternEdit(PatternEditor& editor, PatternEditor::Kind kind, const QString& words,
              PatternEditor::State before, PatternEditor::State after)
      : editor_(editor),
        kind_(kind),
        gesture_(editor.gesture_),
        before_(std::move(before)),
        after_(std::move(after)),
        id_before_(editor.id_),
        id_after_(editor.id_) {
    setText(words);
    if (!editor.entry().ships || before_.pattern == after_.pattern) return;
    copy_ = editor.copy_of(editor.entry());
    id_after_ = copy_->id;
    if (kind != PatternEditor::Kind::name) after_.pattern.name = copy_->pattern.name;
    if (kind != PatternEditor::Kind::title) after_.pattern.title = copy_->pattern.title;
  }

  int id() const override { return 1; }

  void redo() override {
    if (copy_ && editor_.patterns_.row_of(id_after_) < 0) {
      copy_->pattern = after_.pattern;
      editor_.patterns_.add(*copy_);
    }
    editor_.go_to(id_after_, after_);
  }

  void undo() override {
    editor_.go_to(id_before_, before_);
    if (!copy_) return;
    const int row = editor_.patterns_.row_of(id_after_);
    // A copy that was saved stays.
    if (row >= 0 && editor_.patterns_.entry(row).file.isEmpty()) {
      editor_.patterns_.remove(id_after_);
      Q_EMIT editor_.changed();
    }
  }

  bool mergeWith(const QUndoCommand* other) override {
    const auto& next = static_cast<const PatternEdit&>(*other);
    if (next.kind_ != kind_ || next.gesture_ != gesture_ || next.copy_ ||
        next.id_before_ != id_after_) {
      return false;
    }
    after_ = next.after_;
    return true;
  }

 private:
  PatternEditor& editor_;
  PatternEditor::Kind kind_;
  int gesture_;
  PatternEditor::State before_, after_;
  int id_before_, id_after_;
  std::optional<PatternEntry> copy_;
};

PatternEditor::PatternEditor(QObject* parent) : QObject(parent) {
  id_ = patterns_.entry(0).id;
}

void PatternEditor::choose(int row) {
  if (row < 0 || row >= patterns_.rowCount() || patterns_.entry(row).id == id_) return;
  end_gesture();
  id_ = patterns_.entry(row).id;
  Q_EMIT changed();
}

std::optional<Window> PatternEditor::window_of(const AttentionPattern& pattern) const {
  if (!pattern.has_window()) return std::nullopt;
  return state_.window;
}

PatternEditor::Sentences PatternEditor::sentences() const {
  if (state_.item.sentences_given) {
    return state_.item.sentences.empty() ? Sentences::none : Sentences::listed;
  }
  return pattern().sentence_every ? Sentences::every : Sentences::none;
}

PatternEditor::State PatternEditor::now() const {
  State state = state_;
  state.pattern = pattern();
  return state;
}

PatternEntry PatternEditor::copy_of(const PatternEntry& origin) {
  PatternEntry copy{
      .id = patterns_.next_id(), .pattern = origin.pattern, .before = origin.pattern, .file = {}};
  const std::string stem = origin.pattern.name + "-edited";
  copy.pattern.name = stem;
  for (int number = 2; patterns_.has_name(copy.pattern.name); ++number) {
    copy.pattern.name = stem + "-" + std::to_string(number);
  }
  const std::string& title =
      origin.pattern.title.empty() ? origin.pattern.name : origin.pattern.title;
  copy.pattern.title = title + " (edited)";
  return copy;
}

void PatternEditor::edit(Kind kind, const QString& words,
                         const std::function<void(State&)>& change) {
  State before = now();
  State next = before;
  change(next);
  if (before == next) return;
  undo_.push(new PatternEdit(*this, kind, words, std::move(before), std::move(next)));
}

Status PatternEditor::edit_pattern(Kind kind, const QString& words,
                                   const std::function<void(AttentionPattern&)>& change) {
  AttentionPattern next = pattern();
  change(next);
  if (!next.has_rules() && !next.knows_no_groups()) return fail("{}", no_pairs);
  settle_sentences(next, state_.item);
  edit(kind, words, [&](State& state) { state.pattern = next; });
  return {};
}

void PatternEditor::go_to(int id, const State& state) {
  id_ = id;
  patterns_.set_pattern(id, state.pattern);
  state_.window = state.window;
  state_.item = state.item;
  Q_EMIT changed();
}

Status PatternEditor::set_rule(TokenGroup from, TokenGroup to, const GroupRule& rule) {
  if (pattern().blocks) {
    return fail("Blocks alone determine the allowed pairs; switch them off to edit the table.");
  }
  if (pattern().item) {
    return fail(
        "A window over whole items alone determines the allowed pairs; choose another pattern.");
  }
  if (needs_positions(rule) && !share_positions(from, to)) {
    return fail("{} and {} tokens share no positions, so {} between them {} no meaning.",
                name_of(from), name_of(to),
                rule.kind == GroupRule::Kind::window ? "a window" : "chunks",
                rule.kind == GroupRule::Kind::window ? "has" : "have");
  }
  end_gesture();
  return edit_pattern(Kind::rule, tr("attention rules"), [&](AttentionPattern& next) {
    next.attends[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = rule;
  });
}

Status PatternEditor::set_blocks(const std::optional<BlockRule>& blocks) {
  return edit_pattern(Kind::blocks, tr("blocks"), [&](AttentionPattern& next) {
    if (blocks) {
      next.attends = {};
      next.sentence_every.reset();
      next.item.reset();
    } else if (next.blocks) {
      next.item = entry().before.item;
      next.attends = entry().before.attends;
      next.sentence_every = entry().before.sentence_every;
      if (!next.has_rules() && !next.item) {  // starts as blocks: all groups attend to all
        for (const TokenGroup from : {TokenGroup::cls, TokenGroup::query, TokenGroup::document}) {
          for (const TokenGroup to : {TokenGroup::cls, TokenGroup::query, TokenGroup::document}) {
            next.attends[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)].kind =
                GroupRule::Kind::whole;
          }
        }
      }
    }
    next.blocks = blocks;
  });
}

Status PatternEditor::set_name(const std::string& name) {
  if (name == pattern().name) return {};
  const bool valid = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  if (!valid) return fail("A name may contain letters a-z, digits, - and _.");
  if (patterns_.has_name(name)) {
    return fail("\"{}\" is the name of another pattern here; choose another name.", name);
  }
  return edit_pattern(Kind::name, tr("name"), [&](AttentionPattern& next) { next.name = name; });
}

Status PatternEditor::set_title(const std::string& title) {
  return edit_pattern(Kind::title, tr("title"),
                      [&](AttentionPattern& next) { next.title = title; });
}

Status PatternEditor::set_description(const std::string& description) {
  return edit_pattern(Kind::description, tr("description"),
                      [&](AttentionPattern& next) { next.description = description; });
}

void PatternEditor::set_window(Window window) {
  edit(Kind::window, tr("window"), [&](State& next) { next.window = window; });
}

void PatternEditor::set_query(std::int64_t tokens) {
  edit(Kind::query, tr("query tokens"), [&](State& next) { next.item.query = tokens; });
}

void PatternEditor::set_documents(const std::vector<std::int64_t>& tokens) {
  edit(Kind::documents, tr("document tokens"), [&](State& next) { next.item.documents = tokens; });
}

void PatternEditor::set_sentences_every(std::int64_t tokens) {
  edit(Kind::sentences, tr("sentence starts"), [&](State& next) {
    next.item.sentences.clear();
    next.item.sentences_given = false;
    next.pattern.sentence_every = tokens;
  });
}

void PatternEditor::set_sentences(const std::vector<std::int64_t>& starts) {
  edit(Kind::sentences, tr("sentence starts"), [&](State& next) {
    next.item.sentences = starts;
    next.item.sentences_given = true;
  });
}

Status PatternEditor::open_file(const QString& file) {
  const Result<int> row = patterns_.open_file(file);
  if (!row) return tl::unexpected(row.error());
  end_gesture();
  id_ = patterns_.entry(*row).id;
  Q_EMIT changed();  // also if a reopened file keeps its row
  return {};
}

Status PatternEditor::save(const QString& file) {
  const Status saved = patterns_.save(row(), file);
  if (saved) Q_EMIT changed();
  return saved;
}

}  // namespace attnscope::gui
