// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/models/pattern_editor.h"

#include <QUndoCommand>
#include <algorithm>
#include <utility>

namespace attnscope::gui {
namespace {

constexpr std::int64_t first_stride = 30;  // of QDS-Transformer

const char* const nobody_sees =
    "At least one group has to see another: a pattern in which nobody sees anybody cannot be "
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
    // A copy that was saved meanwhile stays.
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
  if (!next.has_rules() && !next.knows_no_groups()) return fail("{}", nobody_sees);
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
    return fail("Blocks say alone who sees whom; switch them off to edit the table.");
  }
  if (pattern().item) {
    return fail("A window over whole items says alone who sees whom; choose another pattern.");
  }
  if (needs_positions(rule) && !share_positions(from, to)) {
    return fail("{} and {} tokens share no positions, so {} between them {} no meaning.",
                name_of(from), name_of(to),
                rule.kind == GroupRule::Kind::window ? "a window" : "chunks",
                rule.kind == GroupRule::Kind::window ? "has" : "have");
  }
  end_gesture();
  return edit_pattern(Kind::rule, tr("who sees whom"), [&](AttentionPattern& next) {
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
  if (!valid) return fail("A name is made of letters a-z, digits, - and _.");
  if (patterns_.has_name(name)) {
    return fail("\"{}\" is the name of another pattern here; choose another one.", name);
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
