// SPDX-License-Identifier: Apache-2.0
#include "app/gui/models/pattern_editor.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <QSpinBox>
#include <functional>

#include "app/gui/session/text.h"
#include "app/gui/views/pattern_matrix.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class PatternEditorTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::unique_ptr<PatternEditor> editor_;

  void choose(const std::string& name) const {
    for (int row = 0; row < editor_->patterns().rowCount(); ++row) {
      if (editor_->patterns().pattern(row).name == name) editor_->choose(row);
    }
  }

  struct Seen {
    AttentionPattern pattern;
    Window window = Window::of(0);
    LayoutItem item;
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  Seen seen() const { return {editor_->pattern(), editor_->chosen_window(), editor_->item()}; }

  Status set_rule(TokenGroup from, TokenGroup to, GroupRule::Kind kind) const {
    return editor_->set_rule(from, to, {.kind = kind});
  }
  [[nodiscard]] bool is_valid() const {
    return parse_pattern(pattern_json(editor_->pattern()), "edited").has_value();
  }
  [[nodiscard]] QString mine() const { return folder_.filePath(u"mine.json"_s); }

 private Q_SLOTS:

  void init() {
    editor_ = std::make_unique<PatternEditor>();
    choose("sparse");
  }

  void CopiesAShippedPatternAtTheFirstEdit() {
    const int before = editor_->patterns().rowCount();
    QVERIFY(set_rule(TokenGroup::query, TokenGroup::document, GroupRule::Kind::whole));
    QCOMPARE(editor_->patterns().rowCount(), before + 1);
    QCOMPARE(editor_->pattern().name, std::string("sparse-edited"));
    QVERIFY(editor_->pattern().title.ends_with(" (edited)"));
    QVERIFY(editor_->entry().is_modified());
    QCOMPARE(editor_->entry().before, find_pattern("sparse").value());
    QCOMPARE(editor_->patterns().pattern(1), built_in_patterns()[1]);
    choose("sparse");
    QVERIFY(!editor_->entry().is_modified());
    QVERIFY(set_rule(TokenGroup::query, TokenGroup::cls, GroupRule::Kind::whole));
    QCOMPARE(editor_->pattern().name, std::string("sparse-edited-2"));
  }

  void UndoesEveryEdit() {
    using Edit = std::function<void()>;
    const auto rule = [this](TokenGroup from, TokenGroup to, const GroupRule& made) -> Edit {
      return [=, this] { (void)editor_->set_rule(from, to, made); };
    };
    constexpr TokenGroup document = TokenGroup::document;
    const std::pair<const char*, Edit> edits[] = {
        {"rule", rule(TokenGroup::query, document, {.kind = GroupRule::Kind::whole})},
        {"own window",
         rule(document, document, {.kind = GroupRule::Kind::window, .fixed_window = 7})},
        {"chunks", rule(document, document,
                        {.kind = GroupRule::Kind::chunks, .chunk = {.tokens = 7, .overlap = 2}})},
        {"sentences take part",
         rule(TokenGroup::sentence, document, {.kind = GroupRule::Kind::window})},
        {"stride", [&] { editor_->set_sentences_every(5); }},
        {"listed", [&] { editor_->set_sentences({0, 9, 20}); }},
        {"no sentences", [&] { editor_->set_sentences({}); }},
        {"window", [&] { editor_->set_window(Window::of(9)); }},
        {"infinite window", [&] { editor_->set_window(Window::infinite()); }},
        {"query", [&] { editor_->set_query(3); }},
        {"documents", [&] { editor_->set_documents({30, 20, 10}); }},
        {"name", [&] { (void)editor_->set_name("mine"); }},
        {"title", [&] { editor_->set_title("My own"); }},
        {"description", [&] { editor_->set_description("What it is for."); }},
        {"blocks",
         [&] { (void)editor_->set_blocks(BlockRule{.length = 8, .random = 2, .seed = 5}); }},
        {"no blocks", [&] { (void)editor_->set_blocks(std::nullopt); }}};
    std::vector<Seen> states{seen()};
    for (const auto& [name, edit] : edits) {
      edit();
      QVERIFY2(!(seen() == states.back()), name);
      states.push_back(seen());
      editor_->end_gesture();
    }
    QCOMPARE(editor_->undo_stack().count(), static_cast<int>(std::size(edits)));
    for (std::size_t i = states.size(); i-- > 1;) {
      QVERIFY2(seen() == states[i], edits[i - 1].first);
      editor_->undo_stack().undo();
    }
    QVERIFY(seen() == states.front());
    QVERIFY(!editor_->undo_stack().canUndo());
    QCOMPARE(editor_->patterns().rowCount(), static_cast<int>(built_in_patterns().size()));
    for (std::size_t i = 1; i < states.size(); ++i) {
      editor_->undo_stack().redo();
      QVERIFY2(seen() == states[i], edits[i - 1].first);
    }
  }

  void UndoesAGestureInOneStep() {
    for (const int width : {5, 6, 7, 8}) editor_->set_window(Window::of(width));
    editor_->end_gesture();
    editor_->set_window(Window::of(20));
    QCOMPARE(editor_->undo_stack().count(), 2);
    editor_->undo_stack().undo();
    QCOMPARE(editor_->chosen_window(), Window::of(8));
    editor_->undo_stack().undo();
    QCOMPARE(editor_->chosen_window(), Window::of(4));
  }

  void SelectsThePatternOfAnUndoneEdit() {
    QVERIFY(set_rule(TokenGroup::query, TokenGroup::cls, GroupRule::Kind::whole));
    choose("full");
    editor_->undo_stack().undo();
    QCOMPARE(editor_->pattern().name, std::string("sparse"));
  }

  void RefusesInvalidEdits() {
    const Seen before = seen();
    const Status window =
        set_rule(TokenGroup::query, TokenGroup::document, GroupRule::Kind::window);
    QVERIFY(!window);
    QVERIFY(window.error().message.find("positions") != std::string::npos);
    QVERIFY(!editor_->set_name("with blank"));
    QVERIFY(!editor_->set_name(""));
    QVERIFY(!editor_->set_name("full"));
    QVERIFY(seen() == before);
    choose("full");
    std::size_t refused = 0;
    for (const TokenGroup from : token_groups) {
      for (const TokenGroup to : token_groups) {
        refused += set_rule(from, to, GroupRule::Kind::none) ? 0U : 1U;
      }
    }
    QCOMPARE(refused, std::size_t{1});  // the last rule that was left
    QVERIFY(editor_->pattern().has_rules());
    QVERIFY(is_valid());
  }

  void GivesSentencesAStride() {
    QVERIFY(set_rule(TokenGroup::sentence, TokenGroup::document, GroupRule::Kind::whole));
    QCOMPARE(editor_->sentences(), PatternEditor::Sentences::every);
    QVERIFY(set_rule(TokenGroup::sentence, TokenGroup::document, GroupRule::Kind::none));
    QVERIFY(!editor_->pattern().sentence_every.has_value());
    QVERIFY(is_valid());
  }

  void SwitchesBetweenBlocksAndTable() {
    const AttentionPattern before = editor_->pattern();
    QVERIFY(editor_->set_blocks(BlockRule{}));
    QVERIFY(!set_rule(TokenGroup::query, TokenGroup::cls, GroupRule::Kind::whole));
    QVERIFY(is_valid());
    QVERIFY(editor_->set_blocks(std::nullopt));
    QCOMPARE(editor_->pattern().attends, before.attends);
    choose("bigbird");
    QVERIFY(editor_->set_blocks(std::nullopt));
    QVERIFY(editor_->pattern().has_rules());
  }

  void SavesAndReopensAPattern() {
    QVERIFY(set_rule(TokenGroup::query, TokenGroup::document, GroupRule::Kind::whole));
    const QString file = mine();
    QVERIFY(editor_->save(file));
    QVERIFY(!editor_->entry().is_modified());
    QCOMPARE(find_pattern(file.toStdString()).value(), editor_->pattern());
    const AttentionPattern saved = editor_->pattern();
    editor_->undo_stack().undo();
    QCOMPARE(editor_->pattern().name, std::string("sparse"));
    QVERIFY(editor_->patterns().row_of_file(file) >= 0);  // the file's pattern stays in the list
    QVERIFY(editor_->open_file(file));
    QCOMPARE(editor_->pattern(), saved);
  }

  void RefusesToSaveOverAnOpenPattern() {
    QVERIFY(set_rule(TokenGroup::query, TokenGroup::cls, GroupRule::Kind::whole));
    const QString file = folder_.filePath(u"taken.json"_s);
    QVERIFY(editor_->save(file));
    choose("full");
    editor_->set_title("Another");
    QVERIFY(!editor_->save(file));
    QVERIFY(!editor_->save(u"/nowhere/at/all.json"_s));
    QVERIFY(editor_->entry().is_modified());
  }

  void EditsTheTableInTheMatrix() {
    PatternMatrix matrix;
    matrix.set_editor(*editor_);
    matrix.show();
    const auto cell = [&](TokenGroup from, TokenGroup to) {
      return matrix.model()->index(static_cast<int>(from), static_cast<int>(to));
    };
    const auto set_width = [&](const QModelIndex& index, int tokens) {
      matrix.setCurrentIndex(index);
      QTest::keyClick(&matrix, Qt::Key_F2);
      auto* box = matrix.findChild<QSpinBox*>();
      QVERIFY(box);
      box->setValue(tokens);
      QTest::keyClick(box, Qt::Key_Return);
      QTRY_VERIFY(!matrix.findChild<QSpinBox*>());
    };
    const QModelIndex documents = cell(TokenGroup::document, TokenGroup::document);
    QCOMPARE(documents.data().toString(), u"w"_s);
    set_width(documents, 12);
    QCOMPARE(documents.data().toString(), u"w = 12"_s);
    set_width(documents, -1);
    QCOMPARE(documents.data().toString(), u"w"_s);
    const QModelIndex query = cell(TokenGroup::query, TokenGroup::document);
    QVERIFY(!(query.flags() & Qt::ItemIsEditable));
    QSignalSpy refused(&matrix, &PatternMatrix::refused);
    matrix.setCurrentIndex(query);
    QTest::keyClick(&matrix, Qt::Key_3);
    QVERIFY(!refused.last()[0].toString().isEmpty());
    QTest::keyClick(&matrix, Qt::Key_2);
    QVERIFY(refused.last()[0].toString().isEmpty());
    QCOMPARE(query.data().toString(), u"whole"_s);
    QVERIFY(editor_->set_blocks(BlockRule{}));
    QVERIFY(!(documents.flags() & Qt::ItemIsEnabled));
  }

  void ReadsListsOfNumbers() {
    const std::vector<std::int64_t> lengths{300, 200, 100, 100, 100};
    QCOMPARE(parse_lengths(u"300, 200 3x100"_s).value(), lengths);
    QCOMPARE(lengths_text(lengths), u"300, 200, 3x100"_s);
    QCOMPARE(parse_lengths(lengths_text(lengths)).value(), lengths);
    for (const char* wrong : {"", "a", "-3", "2x", "x5", "1e9", "2000x5", "9999999"}) {
      QVERIFY2(!parse_lengths(QLatin1String(wrong)), wrong);
    }
    QCOMPARE(parse_offsets(u"0, 30; 60"_s).value(), (std::vector<std::int64_t>{0, 30, 60}));
    QVERIFY(parse_offsets(QString()).value().empty());
    QVERIFY(!parse_offsets(u"5, 5"_s));
    QVERIFY(!parse_offsets(u"9, 5"_s));
  }

  void ListsAnOpenedFileOnce() {
    PatternListModel model;
    QAbstractItemModelTester tester(&model);
    const int before = model.rowCount();
    const QString file = write_bytes(mine(), R"({"name": "mine", "title": "My own",
        "attends": {"document": {"document": "window"}}})");
    const Result<int> row = model.open_file(file);
    QVERIFY(row.has_value());
    QCOMPARE(model.index(*row).data().toString(), u"My own"_s);
    QVERIFY(model.open_file(file).has_value());
    QCOMPARE(model.rowCount(), before + 1);
  }

  void ListsThePatternsOfACheckpoint() {
    PatternListModel model;
    QAbstractItemModelTester tester(&model);
    const int before = model.rowCount();
    const QString models = QStringLiteral(ATTNSCOPE_SOURCE_DIR "/tests/golden/models/");
    for (int i = 0; i < 2; ++i) {
      const Result<int> row = model.open_file(models + u"modernbert/config.json"_s);
      QVERIFY(row.has_value());
      QCOMPARE(*row, before);
      QCOMPARE(model.rowCount(), before + 2);
    }
    QCOMPARE(model.title(before), u"modernbert, layers 0 and 3: Full attention"_s);
    QCOMPARE(model.title(before + 1), u"modernbert, layers 1, 2 and 4: Sliding window, w = 64"_s);
    QCOMPARE(model.pattern(before + 1).item->fixed_window, std::optional<std::int64_t>(64));
    const Result<int> longformer = model.open_file(models + u"longformer/config.json"_s);
    QVERIFY(longformer.has_value());
    QVERIFY(!model.pattern(*longformer).has_window());
    QVERIFY(model.title(*longformer).startsWith(u"longformer, all layers: "_s));
    QVERIFY(!model.has_name("longformer-global"));
  }

  void RefusesWrongAndMissingFiles() {
    PatternListModel model;
    const int before = model.rowCount();
    const QString wrong =
        write_bytes(mine(), R"({"name": "mine", "attends": {"document": {"document": "windw"}}})");
    for (const auto& [file, words] :
         {std::pair(wrong, u"windw"_s), {u"/nowhere/mine.json"_s, u"/nowhere/mine.json"_s}}) {
      const Result<int> row = model.open_file(file);
      QVERIFY(!row.has_value());
      const QString message = qstring(row.error().message);
      QVERIFY2(message.contains(u"mine.json"_s) && message.contains(words), qPrintable(message));
    }
    QCOMPARE(model.rowCount(), before);
  }
};

ATTNSCOPE_GUI_TEST(PatternEditorTest)

}  // namespace attnscope::gui
#include "pattern_editor_test.moc"
