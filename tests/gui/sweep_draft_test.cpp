// SPDX-License-Identifier: Apache-2.0
#include "app/gui/session/sweep_draft.h"

#include <nlohmann/json.hpp>

#include "tests/gui/gui_test.h"

namespace attnscope::gui {

const NamedSweep& preset() {
  return built_in_sweeps().front();
}

const QString lengths = u"sequence_tokens"_s;

bool has_problem(const SweepDraft& draft, const char* field) {
  return check(draft).problems.contains(QLatin1String(field));
}

/// What the draft measures; a draft with a problem fails the test.
CheckedDraft checked_ok(const SweepDraft& draft) {
  CheckedDraft checked = check(draft);
  if (!checked.ok()) QTest::qFail(qPrintable(checked.problem()), __FILE__, __LINE__);
  return checked;
}

nlohmann::json sweep_of(const CheckedDraft& draft) {
  return draft.ok() ? nlohmann::json::parse(draft.sweep_text) : nlohmann::json();
}

class SweepDraftTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:

  void KeepsPresetsByteForByte() {
    for (const NamedSweep& sweep : built_in_sweeps()) {
      const CheckedDraft checked = checked_ok(draft_of(sweep));
      QCOMPARE(checked.sweep_text, sweep.text);
      QVERIFY(checked.heats > 0);
      QVERIFY(checked.cells >= checked.heats);
      QVERIFY(checked.longest_seconds > 0);
    }
  }

  void ChangesOnlyTheLength() {
    SweepDraft draft = draft_of(preset());
    draft.fields[lengths] = u"64:256:*2, 300"_s;
    const CheckedDraft checked = checked_ok(draft);
    QCOMPARE(checked.heats, 4);
    const auto before = nlohmann::json::parse(preset().text);
    const auto after = sweep_of(checked);
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
        {u"full"_s, u"sdpa"_s},
        {u"sparse+cls-only-last-layer"_s, u"segment"_s},
        {u"longformer+cls-only-last-layer"_s, u"longformer-chunks"_s}};
    QVERIFY(draft.contenders == expected);
    draft.fields[lengths] = u"64"_s;
    CheckedDraft checked = checked_ok(draft);
    QVERIFY(sweep_of(checked).at("contenders") ==
            nlohmann::json::parse(models.text).at("contenders"));
    draft.contenders.push_back({u"sparse"_s, u"segment"_s});
    QVERIFY(has_problem(draft, "contenders"));
  }

  void ReadsDrawnLengths() {
    const NamedSweep models{"models", R"({"name": "models", "operation": "model",
      "contenders": ["dual-bert/segment"],
      "document_tokens": [{"lognormal": [804, 3267], "max": 2000}, 300]})"};
    const QString words = u"document_tokens"_s;
    SweepDraft draft = draft_of(models);
    QCOMPARE(draft.fields[words], u"lognormal 804/3267 up to 2000, 300"_s);
    checked_ok(draft);
    draft.fields[words].append(u", lognormal 804/3267 up to 4000"_s);
    QCOMPARE(checked_ok(draft).heats, 3);
    draft.fields[words] = u"lognormal 804 up to 2000"_s;
    QVERIFY(has_problem(draft, "document_tokens"));
    draft.fields[words] = u"200"_s;
    draft.fields[lengths] = u"64"_s;
    QVERIFY(has_problem(draft, "document_tokens"));
    draft.fields[words].clear();
    checked_ok(draft);
    draft.fields[lengths].clear();
    QVERIFY(has_problem(draft, "sequence_tokens"));
  }

  void RefusesWrongFields() {
    struct Wrong {
      const char *field, *text, *problem;
      bool alone;  // no other problem
    };
    for (const Wrong& wrong : {Wrong{"sequence_tokens", "64:4", "sequence_tokens", true},
                               Wrong{"sequence_tokens", "", "sequence_tokens", false},
                               Wrong{"windows", " , ", "contenders", false},  // one has a window
                               Wrong{"windows", "-1", "windows", false},
                               Wrong{"stop.placements", "0", "stop.placements", true}}) {
      SweepDraft draft = draft_of(preset());
      draft.fields[QLatin1String(wrong.field)] = QLatin1String(wrong.text);
      const CheckedDraft checked = check(draft);
      QVERIFY2(!checked.ok() && has_problem(draft, wrong.problem), wrong.text);
      if (!wrong.alone) continue;
      QCOMPARE(checked.problems.size(), std::size_t{1});
      QCOMPARE(checked.problem(), checked.problems.begin()->second);
    }
    SweepDraft draft = draft_of(preset());
    draft.fields[lengths] = u"3"_s;  // shorter than its query
    QVERIFY(!check(draft).ok());
    draft = draft_of(preset());
    draft.contenders.clear();
    QVERIFY(has_problem(draft, "contenders"));
  }

  void AcceptsPatternsWithoutWindows() {
    SweepDraft draft = draft_of(preset());
    draft.contenders = {{u"full"_s, u"sdpa"_s}};
    draft.fields[u"windows"_s].clear();
    draft.name = u"renamed"_s;
    const CheckedDraft checked = checked_ok(draft);
    QCOMPARE(checked.cells, checked.heats);
    QVERIFY(sweep_of(checked).at("name") == "renamed");
  }

  void ReadsAndWritesOtherAxes() {
    SweepDraft draft = draft_of({"two", R"({"name": "two", "contenders": ["full/sdpa"],
        "sequence_tokens": [64], "batch": {"max": 8}, "dtype": ["float32", "float16"]})"});
    QCOMPARE(draft.fields[u"batch.max"_s], u"8"_s);
    QCOMPARE(draft.fields[u"dtype"_s], u"float32, float16"_s);
    QCOMPARE(draft.fields[u"heads"_s], QString());
    draft.fields[u"batch.max"_s].clear();
    draft.fields[u"heads"_s] = u"2, 4"_s;
    draft.fields[u"shared_query"_s] = u"true"_s;
    draft.fields[u"memory_order"_s] = u"token-major"_s;
    const CheckedDraft checked = checked_ok(draft);
    QCOMPARE(checked.heats, 4);
    const auto sweep = sweep_of(checked);
    QVERIFY(!sweep.contains("batch"));
    QVERIFY(sweep.at("heads") == nlohmann::json::array({2, 4}));
    QVERIFY(sweep.at("shared_query") == true);
  }

  void AcceptsOrRefusesATypedSweep() {
    const std::string text = preset().text;
    QCOMPARE(check_text(text).sweep_text, text);
    QVERIFY(check_text(text).ok());
    const CheckedDraft wrong = check_text("{\n\"name\": 3}");
    QVERIFY(wrong.problem().contains(u"line 2"_s));
  }

  void RoundsDurationsUp() {
    QCOMPARE(duration_text(12.2), u"13 s"_s);
    QCOMPARE(duration_text(61), u"2 min"_s);
    QCOMPARE(duration_text(3600 + 1199), u"1 h 20 min"_s);
  }
};

ATTNSCOPE_GUI_TEST(SweepDraftTest)

}  // namespace attnscope::gui
#include "sweep_draft_test.moc"
