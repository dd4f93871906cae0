// SPDX-License-Identifier: Apache-2.0
#include <QAbstractItemModelTester>

#include "app/gui/models/pattern_editor.h"
#include "tests/gui/gui_test.h"

namespace attnscope::gui {

class PatternListModelTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  QString write(const QByteArray& json) {
    const QString file = folder_.filePath(u"mine.json"_s);
    QFile out(file);
    if (out.open(QIODevice::WriteOnly)) out.write(json);
    return file;
  }
  const QByteArray mine_ = R"({"name": "mine", "title": "My own",
 "attends": {"document": {"document": "window"}}})";

 private Q_SLOTS:

  void ListsShippedPatterns() {
    const PatternListModel model;
    QCOMPARE(model.rowCount(), static_cast<int>(built_in_patterns().size()));
    QVERIFY(model.rowCount() >= 5);
  }

  void ListsAnOpenedFileOnce() {
    PatternListModel model;
    QAbstractItemModelTester tester(&model);
    const int before = model.rowCount();
    const QString file = write(mine_);
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

  void RefusesAWrongFile() {
    PatternListModel model;
    const int before = model.rowCount();
    const QString file =
        write(R"({"name": "mine", "attends": {"document": {"document": "windw"}}})");
    const Result<int> row = model.open_file(file);
    QVERIFY(!row.has_value());
    QVERIFY(row.error().message.find("mine.json") != std::string::npos);
    QVERIFY(row.error().message.find("windw") != std::string::npos);
    QCOMPARE(model.rowCount(), before);
  }

  void RefusesAMissingFile() {
    PatternListModel model;
    const Result<int> row = model.open_file(u"/nowhere/mine.json"_s);
    QVERIFY(!row.has_value());
    QVERIFY(row.error().message.find("/nowhere/mine.json") != std::string::npos);
  }
};

ATTNSCOPE_GUI_TEST(PatternListModelTest)

}  // namespace attnscope::gui
#include "pattern_list_model_test.moc"
