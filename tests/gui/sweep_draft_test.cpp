// SPDX-License-Identifier: Apache-2.0
#include "app/gui/session/sweep_draft.h"

#include <nlohmann/json.hpp>

#include "tests/gui/gui_test.h"

namespace attnscope::gui {

const NamedSweep& preset() {
  return built_in_sweeps().front();
}

const QString lengths = QStringLiteral("sequence_tokens");

bool has_problem(const SweepDraft& draft, const char* field) {
  return check(draft).problems.contains(QLatin1String(field));
}

class SweepDraftTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:

  void KeepsPresetsByteForByte() {
    for (const NamedSweep& sweep : built_in_sweeps()) {
      const CheckedDraft checked = check(draft_of(sweep));
      QVERIFY2(checked.ok(), qPrintable(checked.problem()));
      QCOMPARE(checked.sweep_text, sweep.text);
      QVERIFY(checked.heats > 0);
      QVERIFY(checked.cells >= checked.heats);
      QVERIFY(checked.longest_seconds > 0);
    }
  }

  void ChangesOnlyTheLength() {
    SweepDraft draft = draft_of(preset());
    draft.fields[lengths] = QStringLiteral("64:256:*2, 300");
    const CheckedDraft checked = check(draft);
    QVERIFY2(checked.ok(), qPrintable(checked.problem()));
    QCOMPARE(checked.heats, 4);
    const auto before = nlohmann::json::parse(preset().text);
    const auto after = nlohmann::json::parse(checked.sweep_text);
    QVERIFY(after.at("stop") == before.at("stop"));
    QVERIFY(after.at("contenders") == before.at("contenders"));
    QVERIFY(after.at("sequence_tokens") == nlohmann::json::array({"64:256:*2", 300}));
  }

  void LeavesWrongTypesToTheReader() {
    const SweepDraft draft = draft_of({"x", R"({"contenders": [{"model": 5}, 7,
        {"pattern": "full", "implementation": [], "cls_only_last_layer": "yes"}]})"});
    QCOMPARE(draft.contenders.size(), std::size_t{2});
    QVERIFY(!check(draft).ok());
  }

  void KeepsWindowsOfContenders() {
    const NamedSweep models{"models", R"({"name": "models", "operation": "model",
      "contenders": ["full/sdpa", "sparse+cls-only-last-layer/segment/4",
                     {"model": "longformer", "implementation": "longformer-chunks", "window": 64,
                      "cls_only_last_layer": true}],
      "sequence_tokens": 174})"};
    SweepDraft draft = draft_of(models);
    const std::vector<PatternAndImplementation> expected{
        {QStringLiteral("full"), QStringLiteral("sdpa")},
        {QStringLiteral("sparse+cls-only-last-layer"), QStringLiteral("segment")},
        {QStringLiteral("longformer+cls-only-last-layer"), QStringLiteral("longformer-chunks")}};
    QVERIFY(draft.contenders == expected);
    draft.fields[lengths] = QStringLiteral("64");
    CheckedDraft checked = check(draft);
    QVERIFY2(checked.ok(), qPrintable(checked.problem()));
    QVERIFY(nlohmann::json::parse(checked.sweep_text).at("contenders") ==
            nlohmann::json::parse(models.text).at("contenders"));
    draft.contenders.push_back({QStringLiteral("sparse"), QStringLiteral("segment")});
    QVERIFY(has_problem(draft, "contenders"));
  }

  void ReadsDrawnLengths() {
    const NamedSweep models{"models", R"({"name": "models", "operation": "model",
      "contenders": ["dual-bert/segment"],
      "document_tokens": [{"lognormal": [804, 3267], "max": 2000}, 300]})"};
    const QString words = QStringLiteral("document_tokens");
    SweepDraft draft = draft_of(models);
    QCOMPARE(draft.fields[words], QStringLiteral("lognormal 804/3267 up to 2000, 300"));
    QVERIFY2(check(draft).ok(), qPrintable(check(draft).problem()));
    draft.fields[words].append(QStringLiteral(", lognormal 804/3267 up to 4000"));
    QVERIFY2(check(draft).ok(), qPrintable(check(draft).problem()));
    QCOMPARE(check(draft).heats, 3);
    draft.fields[words] = QStringLiteral("lognormal 804 up to 2000");
    QVERIFY(has_problem(draft, "document_tokens"));
    draft.fields[words] = QStringLiteral("200");
    draft.fields[lengths] = QStringLiteral("64");
    QVERIFY(has_problem(draft, "document_tokens"));
    draft.fields[words].clear();
    QVERIFY2(check(draft).ok(), qPrintable(check(draft).problem()));
    draft.fields[lengths].clear();
    QVERIFY(has_problem(draft, "sequence_tokens"));
  }

  void RefusesAWrongRange() {
    SweepDraft draft = draft_of(preset());
    draft.fields[lengths] = QStringLiteral("64:4");
    const CheckedDraft checked = check(draft);
    QCOMPARE(checked.problems.size(), std::size_t{1});
    QVERIFY(has_problem(draft, "sequence_tokens"));
  }

  void RefusesMissingLengthsContendersAndWindows() {
    SweepDraft draft = draft_of(preset());
    draft.fields[lengths].clear();
    QVERIFY(has_problem(draft, "sequence_tokens"));
    draft = draft_of(preset());
    draft.contenders.clear();
    QVERIFY(has_problem(draft, "contenders"));
    draft = draft_of(preset());
    draft.fields[QStringLiteral("windows")] = QStringLiteral(" , ");
    QVERIFY(has_problem(draft, "contenders"));  // one of which has a window
    draft.fields[QStringLiteral("windows")] = QStringLiteral("-1");
    QVERIFY(has_problem(draft, "windows"));
  }

  void AcceptsPatternsWithoutWindows() {
    SweepDraft draft = draft_of(preset());
    draft.contenders = {{QStringLiteral("full"), QStringLiteral("sdpa")}};
    draft.fields[QStringLiteral("windows")].clear();
    const CheckedDraft checked = check(draft);
    QVERIFY2(checked.ok(), qPrintable(checked.problem()));
    QCOMPARE(checked.cells, checked.heats);
  }

  void RefusesALengthShorterThanItsQuery() {
    SweepDraft draft = draft_of(preset());
    draft.fields[lengths] = QStringLiteral("3");
    const CheckedDraft checked = check(draft);
    QVERIFY(!checked.ok());
  }

  void ChangesOnlyTheName() {
    SweepDraft draft = draft_of(preset());
    draft.name = QStringLiteral("renamed");
    const CheckedDraft checked = check(draft);
    QVERIFY(checked.ok());
    QVERIFY(nlohmann::json::parse(checked.sweep_text).at("name") == "renamed");
  }

  void ReadsAndWritesOtherAxes() {
    SweepDraft draft = draft_of({"two", R"({"name": "two", "contenders": ["full/sdpa"],
        "sequence_tokens": [64], "batch": {"max": 8}, "dtype": ["float32", "float16"]})"});
    QCOMPARE(draft.fields[QStringLiteral("batch.max")], QStringLiteral("8"));
    QCOMPARE(draft.fields[QStringLiteral("dtype")], QStringLiteral("float32, float16"));
    QCOMPARE(draft.fields[QStringLiteral("heads")], QString());
    draft.fields[QStringLiteral("batch.max")].clear();
    draft.fields[QStringLiteral("heads")] = QStringLiteral("2, 4");
    draft.fields[QStringLiteral("shared_query")] = QStringLiteral("true");
    draft.fields[QStringLiteral("memory_order")] = QStringLiteral("token-major");
    const CheckedDraft checked = check(draft);
    QVERIFY2(checked.ok(), qPrintable(checked.problem()));
    QCOMPARE(checked.heats, 4);
    const auto sweep = nlohmann::json::parse(checked.sweep_text);
    QVERIFY(!sweep.contains("batch"));
    QVERIFY(sweep.at("heads") == nlohmann::json::array({2, 4}));
    QVERIFY(sweep.at("shared_query") == true);
  }

  void RefusesAWrongAxis() {
    SweepDraft draft = draft_of(preset());
    draft.fields[QStringLiteral("stop.placements")] = QStringLiteral("0");
    const CheckedDraft checked = check(draft);
    QVERIFY(!checked.ok());
    QCOMPARE(checked.problems.size(), std::size_t{1});
    QCOMPARE(checked.problems.begin()->first, QStringLiteral("stop.placements"));
    QCOMPARE(checked.problem(), checked.problems.begin()->second);
  }

  void AcceptsOrRefusesATypedSweep() {
    const std::string text = preset().text;
    QCOMPARE(check_text(text).sweep_text, text);
    QVERIFY(check_text(text).ok());
    const CheckedDraft wrong = check_text("{\n\"name\": 3}");
    QVERIFY(wrong.problem().contains(QStringLiteral("line 2")));
  }

  void RoundsDurationsUp() {
    QCOMPARE(duration_text(12.2), QStringLiteral("13 s"));
    QCOMPARE(duration_text(61), QStringLiteral("2 min"));
    QCOMPARE(duration_text(3600 + 1199), QStringLiteral("1 h 20 min"));
  }
};

ATTNSCOPE_GUI_TEST(SweepDraftTest)

}  // namespace attnscope::gui
#include "sweep_draft_test.moc"
