// SPDX-License-Identifier: Apache-2.0
#include <QSignalSpy>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/session/store_reader.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

QString text_of(const RunId& run) {
  return QString::fromStdString(run.uuid);
}

class StoreThreadTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::optional<Store> other_;

  /// Another connection to the database.
  Store& other() {
    if (!other_) other_.emplace(open_store(path("a.db")));
    return *other_;
  }
  [[nodiscard]] std::filesystem::path path(const char* name) const {
    return folder_->filePath(QLatin1String(name)).toStdString();
  }

 private Q_SLOTS:

  void init() { folder_ = std::make_unique<QTemporaryDir>(); }
  void cleanup() { other_.reset(); }

  void OpensANewDatabase() {
    StoreClient store(path("new/attnscope.db"));
    SignalLog opened(store.reader(), &StoreReader::opened);
    SignalLog changed(store.reader(), &StoreReader::runs_changed);
    store.start();
    QTRY_COMPARE(opened.count(), 1);
    QTRY_COMPARE(changed.count(), 1);
    QVERIFY(std::get<0>(changed.all().front())->runs.empty());
  }

  void RefusesAForeignFileUntilItIsReplaced() {
    QFile foreign(QString::fromStdString(path("foreign.db").string()));
    QVERIFY(foreign.open(QIODevice::WriteOnly));
    foreign.write(QByteArray(8192, 'x'));
    foreign.close();
    StoreClient store(path("foreign.db"));
    SignalLog refused(store.reader(), &StoreReader::refused);
    SignalLog opened(store.reader(), &StoreReader::opened);
    store.start();
    QTRY_COMPARE(refused.count(), 1);
    QVERIFY(std::get<0>(refused.all().front()).contains(u"foreign.db"_s));
    QVERIFY(foreign.remove());
    store.post(&StoreReader::open);
    QTRY_COMPARE(opened.count(), 1);
  }

  void ShowsAHeatOfAnotherConnection() {
    const RunId run = begin_run_with(other(), "live", {64}, 3);
    StoreClient store(path("a.db"));
    store.start(1);
    QVERIFY(store.list().live() != nullptr);
    QCOMPARE(store.list().live()->info.heats_done, 1);
    QVERIFY(other().add_heat(run, made_up_heat(1, 128, three_contenders())).has_value());
    QTRY_COMPARE(store.list().live()->info.heats_done, 2);
    QVERIFY(other().set_progress(run, {2, 3, "256 tokens, full/dense", 12.0}).has_value());
    QTRY_VERIFY(store.list().live()->progress &&
                store.list().live()->progress->current.starts_with("256"));
    QVERIFY(other().finish_run(run, RunStatus::done).has_value());
    QTRY_VERIFY(store.list().live() == nullptr);
  }

  void RereadsTheRunAfterAHeat() {
    const RunId run = begin_run_with(other(), "live", {64}, 3);
    StoreClient store(path("a.db"));
    store.start();
    store.post(&StoreReader::show_run, RunRequest{.uuid = text_of(run)});
    QTRY_VERIFY(store.last_run() && store.last_run()->table.rows.size() == 3);
    QVERIFY(other().add_heat(run, made_up_heat(1, 128, three_contenders())).has_value());
    QTRY_COMPARE(store.last_run()->table.rows.size(), std::size_t{6});
    for (const report::YAxis view : {report::YAxis::time, report::YAxis::memory})
      QVERIFY(store.last_run()->figures.at(view).figure.has_value());
  }

  void ReplacesAMissingBaselineAndReportsAMissingRun() {
    const RunId run = add_done_run(other(), "done", {64, 128});
    StoreClient store(path("a.db"));
    store.start();
    store.post(&StoreReader::show_run,
               RunRequest{.uuid = text_of(run), .baseline = u"qds/segment/9"_s});
    QTRY_COMPARE(store.runs_read(), 1);
    QVERIFY(store.last_run()->problem.isEmpty());
    QCOMPARE(store.last_run()->table.baseline, std::optional<std::string>("full/dense"));
    store.post(&StoreReader::show_run,
               RunRequest{.uuid = text_of(run), .baseline = {}, .any_baseline = false});
    QTRY_COMPARE(store.runs_read(), 2);
    QVERIFY(!store.last_run()->table.baseline.has_value());
    store.post(&StoreReader::show_run, RunRequest{.uuid = u"00000000-removed"_s});
    QTRY_COMPARE(store.runs_read(), 3);
    QVERIFY(!store.last_run()->problem.isEmpty());
  }

  void SlicesCacheStates() {
    const RunId run = begin_run_with(other(), "cold", {64}, 2);
    HeatResult cold = made_up_heat(1, 64, three_contenders());
    cold.point.cache = CacheState::cold;
    cold.point.documents = 4;
    QVERIFY(other().add_heat(run, cold));
    const RunPointer shown = read_run(other(), {.uuid = text_of(run), .baseline = {}});
    QCOMPARE(shown->slice.axes.size(), std::size_t{2});
    QCOMPARE(shown->slice.axes[0].key, std::string("documents"));
    QCOMPARE(shown->slice.axes[1].key, std::string("cache"));
    // 4 documents were measured only with a cold cache, and a cold cache only with 4 documents.
    QVERIFY(!shown->slice.axes[0].values[1].together);
    const FigureSnapshot& time = shown->figures.at(report::YAxis::time);
    QVERIFY2(time.figure.has_value(), qPrintable(time.problem));
  }

  void SlicesAnEndedRunWithoutReadingIt() {
    const RunId run = add_done_run(other(), "done", {64, 128});
    const RunRequest whole = {.uuid = text_of(run)};
    const RunPointer first = read_run(other(), whole);
    RunRequest windows = whole;
    windows.x = report::XAxis::window;
    const RunPointer second = read_run(other(), windows, first);
    QCOMPARE(second->table.rows.size(), first->table.rows.size());
    QCOMPARE(second->table.rows.front().cell.cell.samples.size(), std::size_t{10});
    QCOMPARE(second->slice.axes.front().key, std::string("sequence_tokens"));
    // Another baseline has other ratios.
    RunRequest against = whole;
    against.baseline = u"full/sdpa"_s;
    QCOMPARE(read_run(other(), against, second)->table.baseline,
             std::optional<std::string>("full/sdpa"));
  }

  void DrawsCandidatesOfOneLength() {
    const RunId lengths = add_done_run(other(), "lengths", {64, 128});
    const RunId run = begin_run_with(other(), "stages", {}, 2);
    Contender model = contender("full", "sdpa");
    model.model = "dual-bert";
    for (const int candidates : {10, 100}) {
      HeatResult heat = made_up_heat(candidates == 100 ? 1 : 0, 64, {model});
      heat.point.operation = Operation::model;
      heat.point.stage = Stage::online;
      heat.point.candidates = candidates;
      heat.point.layers = 12;
      heat.point.feed_forward = 3072;
      heat.point.batch_max = 100;
      heat.cells.front().batch = candidates;
      QVERIFY(other().add_heat(run, heat).has_value());
    }
    const auto drawn_along = [&](const RunId& of, report::XAxis wanted) {
      return read_run(other(), {.uuid = text_of(of), .x = wanted})->request.x;
    };
    QCOMPARE(drawn_along(run, report::XAxis::length), report::XAxis::candidates);
    QCOMPARE(drawn_along(run, report::XAxis::window), report::XAxis::window);
    QCOMPARE(drawn_along(lengths, report::XAxis::candidates), report::XAxis::length);
  }

  void KeepsTheNoteOfAnotherProcess() {
    const RunId run = add_done_run(other(), "done", {64});
    StoreClient store(path("a.db"));
    SignalLog written(store.reader(), &StoreReader::text_written);
    SignalLog text(store.reader(), &StoreReader::succeeded);
    store.start();
    store.post(&StoreReader::write_note, text_of(run), u"first"_s, QString());
    QTRY_COMPARE(written.count(), 1);
    QCOMPARE(text.count(), 0);
    QVERIFY(other().describe_run(run, {.note = "theirs"}));
    store.post(&StoreReader::write_note, text_of(run), u"mine"_s, u"first"_s);
    QTRY_COMPARE(written.count(), 2);
    QCOMPARE(other().find_run(run.uuid)->note, std::string("theirs\n\nmine"));
    QCOMPARE(text.count(), 1);
  }

  void OpensAReplacedDatabase() {
    static_cast<void>(add_done_run(other(), "before", {64}));
    other_.reset();
    StoreClient store(path("a.db"));
    SignalLog gone(store.reader(), &StoreReader::gone);
    store.start(1);
    std::filesystem::remove(path("a.db"));
    QTRY_COMPARE(gone.count(), 1);
    QVERIFY(std::get<0>(gone.all().front()).contains(u"a.db"_s));
    store.post(&StoreReader::open);
    QTRY_COMPARE(store.list().rowCount(), 0);
    QCOMPARE(gone.count(), 1);
  }

  void UpdatesTheListAfterRenamingTaggingAndTrashing() {
    const RunId run = add_done_run(other(), "done", {64});
    StoreClient store(path("a.db"));
    RunListModel trash;
    connect(store.reader(), &StoreReader::runs_changed, &trash,
            [&](const RunListPointer& runs) { trash.set_entries(runs->trash); });
    SignalLog trashed(store.reader(), &StoreReader::trashed);
    store.start(1);
    store.post(&StoreReader::rename_run, text_of(run), u"mine"_s);
    QTRY_COMPARE(store.entry(run)->info.name, std::string("mine"));
    store.post(&StoreReader::change_tags, QStringList{text_of(run)}, QStringList{u"a"_s, u"b"_s},
               QStringList{});
    QTRY_COMPARE(store.entry(run)->info.tag, std::string("a b"));
    store.post(&StoreReader::change_tags, QStringList{text_of(run)}, QStringList{u"c"_s},
               QStringList{u"a"_s});
    QTRY_COMPARE(store.entry(run)->info.tag, std::string("b c"));
    store.post(&StoreReader::put_in_trash, QStringList{text_of(run)});
    QTRY_COMPARE(trash.rowCount(), 1);
    QCOMPARE(store.list().rowCount(), 0);
    QTRY_COMPARE(trashed.count(), 1);
    store.post(&StoreReader::show_run, RunRequest{.uuid = text_of(run)});
    QTRY_VERIFY(store.last_run() && store.last_run()->table.rows.size() == 3);
    store.post(&StoreReader::take_from_trash, QStringList{text_of(run)});
    QTRY_COMPARE(store.list().rowCount(), 1);
    QCOMPARE(trash.rowCount(), 0);
    store.post(&StoreReader::put_in_trash, QStringList{text_of(run)});
    store.post(&StoreReader::empty_trash);
    QTRY_VERIFY(other().run_list(RunsOf::both)->empty());
    QTRY_COMPARE(trash.rowCount(), 0);
  }

  void ShowsPublishedRunsWithoutImport() {
    Store shipped = open_store(path("other.db"));
    const RunId run = add_done_run(shipped, "published", {64});
    const RunId plain = add_done_run(shipped, "not packed", {64});
    for (const char* folder : {"one", "two", "empty"})
      std::filesystem::create_directories(path("results") / folder);
    QVERIFY(shipped.export_runs({run}, path("results/one/run.attn.gz")).has_value());
    QVERIFY(shipped.export_runs({plain}, path("results/two/run.attn")).has_value());
    StoreClient store(path("a.db"));
    SignalLog published(store.reader(), &StoreReader::published_read);
    store.start();
    store.post(&StoreReader::read_published, path("nowhere"));
    QTRY_COMPARE(published.count(), 1);
    QVERIFY(std::get<0>(published.all().front())->empty());
    store.post(&StoreReader::read_published, path("results"));
    QTRY_COMPARE(published.count(), 2);
    const auto list = std::get<0>(published.all().back());
    QCOMPARE(list->size(), std::size_t{2});
    QCOMPARE(list->front().entry.info.id.uuid, run.uuid);
    QCOMPARE(list->back().entry.info.id.uuid, plain.uuid);
    store.post(&StoreReader::show_run, RunRequest{.uuid = text_of(run)});
    QTRY_VERIFY(store.last_run() && store.last_run()->table.rows.size() == 3);
    QVERIFY(open_store(path("a.db")).runs()->empty());
  }

  void ImportsAnExportedRunAndOpensItsFileReadOnly() {
    const RunId run = add_done_run(other(), "done", {64});
    const QString file = folder_->filePath(u"run.attn"_s);
    StoreClient from(path("a.db")), to(path("b.db")), opened(path("run.attn"));
    SignalLog exported(from.reader(), &StoreReader::succeeded);
    from.start();
    to.start();
    from.post(&StoreReader::export_runs, QStringList{text_of(run)}, file);
    QTRY_COMPARE(exported.count(), 1);
    to.post(&StoreReader::import_file, file);
    QTRY_COMPARE(to.list().rowCount(), 1);
    QVERIFY(to.entry(run) != nullptr);

    SignalLog failed(opened.reader(), &StoreReader::failed);
    opened.start(1);
    opened.post(&StoreReader::remove_runs, QStringList{text_of(run)});
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(std::get<0>(failed.all().front()).contains(u"read-only"_s));
    QCOMPARE(opened.list().rowCount(), 1);
  }
};

ATTNSCOPE_GUI_TEST(StoreThreadTest)

}  // namespace attnscope::gui
#include "store_thread_test.moc"
