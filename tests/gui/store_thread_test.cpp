// SPDX-License-Identifier: Apache-2.0
#include <QSignalSpy>

#include "app/gui/models/run_list_model.h"
#include "app/gui/session/snapshot.h"
#include "app/gui/session/store_reader.h"
#include "tests/gui/gui_test.h"
#include "tests/gui/run_fixture.h"

namespace attnscope::gui {

QString text_of(const RunId& run) {
  return QString::fromStdString(run.uuid);
}

RunRequest request_for(const QString& uuid) {
  RunRequest request;
  request.uuid = uuid;
  return request;
}

class StoreThreadTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  [[nodiscard]] std::filesystem::path path(const char* name) const {
    return folder_->filePath(QLatin1String(name)).toStdString();
  }
  static RunPointer last_run(const SignalLog<StoreReader, const RunPointer&>& read) {
    return read.all().empty() ? nullptr : std::get<0>(read.all().back());
  }

 private Q_SLOTS:

  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void OpensANewDatabase() {
    StoreThread store(path("new/attnscope.db"));
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
    StoreThread store(path("foreign.db"));
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
    Store other = open_store(path("a.db"));
    const RunId run = begin_run_with(other, "live", {64}, 3);
    StoreThread store(path("a.db"));
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    QVERIFY(model.live() != nullptr);
    QCOMPARE(model.live()->info.heats_done, 1);
    QVERIFY(other.add_heat(run, made_up_heat(1, 128, three_contenders())).has_value());
    QTRY_COMPARE(model.live()->info.heats_done, 2);
    QVERIFY(other.set_progress(run, {2, 3, "256 tokens, full/dense", 12.0}).has_value());
    QTRY_VERIFY(model.live()->progress && model.live()->progress->current.starts_with("256"));
    QVERIFY(other.finish_run(run, RunStatus::done).has_value());
    QTRY_VERIFY(model.live() == nullptr);
  }

  void RereadsTheRunAfterAHeat() {
    Store other = open_store(path("a.db"));
    const RunId run = begin_run_with(other, "live", {64}, 3);
    StoreThread store(path("a.db"));
    SignalLog read(store.reader(), &StoreReader::run_read);
    store.start();
    store.post(&StoreReader::show_run, request_for(text_of(run)));
    QTRY_VERIFY(last_run(read) && last_run(read)->table.rows.size() == 3);
    QVERIFY(other.add_heat(run, made_up_heat(1, 128, three_contenders())).has_value());
    QTRY_COMPARE(last_run(read)->table.rows.size(), std::size_t{6});
    for (const report::YAxis view : {report::YAxis::time, report::YAxis::memory})
      QVERIFY(last_run(read)->figures.at(view).figure.has_value());
  }

  void ReplacesAMissingBaseline() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64, 128});
    StoreThread store(path("a.db"));
    SignalLog read(store.reader(), &StoreReader::run_read);
    store.start();
    store.post(&StoreReader::show_run,
               RunRequest{.uuid = text_of(run), .baseline = u"qds/segment/9"_s});
    QTRY_COMPARE(read.count(), 1);
    QVERIFY(last_run(read)->problem.isEmpty());
    QCOMPARE(last_run(read)->table.baseline, std::optional<std::string>("full/dense"));
    store.post(&StoreReader::show_run,
               RunRequest{.uuid = text_of(run), .baseline = {}, .any_baseline = false});
    QTRY_COMPARE(read.count(), 2);
    QVERIFY(!last_run(read)->table.baseline.has_value());
  }

  void SlicesLengthsAlongWindows() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64, 128});
    StoreThread store(path("a.db"));
    SignalLog read(store.reader(), &StoreReader::run_read);
    store.start();
    store.post(&StoreReader::show_run, RunRequest{.uuid = text_of(run),
                                                  .baseline = {},
                                                  .x = report::XAxis::window,
                                                  .slice = {.values = {{"sequence_tokens", "128"}}},
                                                  .facet = {},
                                                  .pivot = {}});
    QTRY_COMPARE(read.count(), 1);
    const RunPointer shown = last_run(read);
    QCOMPARE(shown->slice.axes.size(), std::size_t{1});
    QCOMPARE(shown->slice.axes.front().name, std::string("Length"));
    QCOMPARE(shown->slice.axes.front().values.size(), std::size_t{2});
    QCOMPARE(shown->slice.axes.front().chosen, std::size_t{1});
    const FigureSnapshot& time = shown->figures.at(report::YAxis::time);
    QVERIFY2(time.figure.has_value(), qPrintable(time.problem));
  }

  void SlicesCacheStates() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    HeatResult cold = made_up_heat(1, 64, three_contenders());
    cold.point.cache = CacheState::cold;
    cold.point.documents = 4;
    QVERIFY(other.add_heat(run, cold));
    StoreThread store(path("a.db"));
    SignalLog read(store.reader(), &StoreReader::run_read);
    store.start();
    store.post(&StoreReader::show_run, RunRequest{.uuid = text_of(run), .baseline = {}});
    QTRY_COMPARE(read.count(), 1);
    const RunPointer shown = last_run(read);
    QCOMPARE(shown->slice.axes.size(), std::size_t{2});
    QCOMPARE(shown->slice.axes[0].key, std::string("documents"));
    QCOMPARE(shown->slice.axes[1].key, std::string("cache"));
    // Neither was measured without the other.
    QVERIFY(!shown->slice.axes[0].values[1].together);
    const FigureSnapshot& time = shown->figures.at(report::YAxis::time);
    QVERIFY2(time.figure.has_value(), qPrintable(time.problem));
  }

  void SlicesAnEndedRunWithoutReadingIt() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64, 128});
    const RunRequest whole = {.uuid = text_of(run)};
    const RunPointer first = read_run(other, whole);
    RunRequest windows = whole;
    windows.x = report::XAxis::window;
    const RunPointer second = read_run(other, windows, first);
    QCOMPARE(second->table.rows.size(), first->table.rows.size());
    QCOMPARE(second->table.rows.front().cell.cell.samples.size(), std::size_t{10});
    QCOMPARE(second->slice.axes.front().key, std::string("sequence_tokens"));
    // Another baseline has other ratios.
    RunRequest against = whole;
    against.baseline = u"full/sdpa"_s;
    QCOMPARE(read_run(other, against, second)->table.baseline,
             std::optional<std::string>("full/sdpa"));
  }

  void DrawsCandidatesOfOneLength() {
    Store other = open_store(path("a.db"));
    const RunId lengths = add_done_run(other, "lengths", {64, 128});
    const RunId run = begin_run_with(other, "stages", {}, 2);
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
      QVERIFY(other.add_heat(run, heat).has_value());
    }
    const auto drawn_along = [&](const RunId& of, report::XAxis wanted) {
      return read_run(other, {.uuid = text_of(of), .x = wanted})->request.x;
    };
    QCOMPARE(drawn_along(run, report::XAxis::length), report::XAxis::candidates);
    QCOMPARE(drawn_along(run, report::XAxis::window), report::XAxis::window);
    QCOMPARE(drawn_along(lengths, report::XAxis::candidates), report::XAxis::length);
  }

  void RemovesARun() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    StoreThread store(path("a.db"));
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    store.post(&StoreReader::remove_runs, QStringList{text_of(run)});
    QTRY_COMPARE(model.rowCount(), 0);
  }

  void KeepsTheNoteOfAnotherProcess() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    StoreThread store(path("a.db"));
    SignalLog written(store.reader(), &StoreReader::text_written);
    SignalLog text(store.reader(), &StoreReader::succeeded);
    store.start();
    store.post(&StoreReader::write_note, text_of(run), u"first"_s, QString());
    QTRY_COMPARE(written.count(), 1);
    QCOMPARE(text.count(), 0);
    QVERIFY(other.describe_run(run, {.note = "theirs"}));
    store.post(&StoreReader::write_note, text_of(run), u"mine"_s, u"first"_s);
    QTRY_COMPARE(written.count(), 2);
    QCOMPARE(other.find_run(run.uuid)->note, std::string("theirs\n\nmine"));
    QCOMPARE(text.count(), 1);
  }

  void OpensAReplacedDatabase() {
    {
      Store before = open_store(path("a.db"));
      static_cast<void>(add_done_run(before, "before", {64}));
    }
    StoreThread store(path("a.db"));
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    SignalLog gone(store.reader(), &StoreReader::gone);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    std::filesystem::remove(path("a.db"));
    QTRY_COMPARE(gone.count(), 1);
    QVERIFY(std::get<0>(gone.all().front()).contains(u"a.db"_s));
    store.post(&StoreReader::open);
    QTRY_COMPARE(model.rowCount(), 0);
    QCOMPARE(gone.count(), 1);
  }

  void UpdatesTheListAfterNameTagsAndTrash() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    StoreThread store(path("a.db"));
    RunListModel model, trash;
    connect(store.reader(), &StoreReader::runs_changed, &model, [&](const RunListPointer& runs) {
      model.set_runs(runs);
      trash.set_entries(runs->trash);
    });
    SignalLog trashed(store.reader(), &StoreReader::trashed);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    store.post(&StoreReader::rename_run, text_of(run), u"mine"_s);
    QTRY_COMPARE(model.entry(text_of(run))->info.name, std::string("mine"));
    store.post(&StoreReader::change_tags, QStringList{text_of(run)}, QStringList{u"a"_s, u"b"_s},
               QStringList{});
    QTRY_COMPARE(model.entry(text_of(run))->info.tag, std::string("a b"));
    store.post(&StoreReader::change_tags, QStringList{text_of(run)}, QStringList{u"c"_s},
               QStringList{u"a"_s});
    QTRY_COMPARE(model.entry(text_of(run))->info.tag, std::string("b c"));
    store.post(&StoreReader::put_in_trash, QStringList{text_of(run)});
    QTRY_COMPARE(trash.rowCount(), 1);
    QCOMPARE(model.rowCount(), 0);
    QTRY_COMPARE(trashed.count(), 1);
    store.post(&StoreReader::take_from_trash, QStringList{text_of(run)});
    QTRY_COMPARE(model.rowCount(), 1);
    QCOMPARE(trash.rowCount(), 0);
    store.post(&StoreReader::put_in_trash, QStringList{text_of(run)});
    store.post(&StoreReader::empty_trash);
    QTRY_VERIFY(other.run_list(RunsOf::both)->empty());
    QTRY_COMPARE(trash.rowCount(), 0);
  }

  void ShowsARunInTheTrash() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    QVERIFY(other.put_in_trash({run}));
    StoreThread store(path("a.db"));
    SignalLog read(store.reader(), &StoreReader::run_read);
    store.start();
    store.post(&StoreReader::show_run, request_for(text_of(run)));
    QTRY_VERIFY(last_run(read) && last_run(read)->table.rows.size() == 3);
  }

  void ShowsPublishedRunsWithoutImport() {
    Store other = open_store(path("other.db"));
    const RunId run = add_done_run(other, "published", {64});
    const RunId plain = add_done_run(other, "not packed", {64});
    for (const char* folder : {"one", "two", "empty"})
      std::filesystem::create_directories(path("results") / folder);
    QVERIFY(other.export_runs({run}, path("results/one/run.attn.gz")).has_value());
    QVERIFY(other.export_runs({plain}, path("results/two/run.attn")).has_value());
    StoreThread store(path("a.db"));
    SignalLog published(store.reader(), &StoreReader::published_read);
    SignalLog read(store.reader(), &StoreReader::run_read);
    store.start();
    store.post(&StoreReader::read_published, path("results"));
    QTRY_COMPARE(published.count(), 1);
    const auto list = std::get<0>(published.all().front());
    QCOMPARE(list->size(), std::size_t{2});
    QCOMPARE(list->front().entry.info.id.uuid, run.uuid);
    QCOMPARE(list->back().entry.info.id.uuid, plain.uuid);
    store.post(&StoreReader::show_run, request_for(text_of(run)));
    QTRY_VERIFY(last_run(read) && last_run(read)->table.rows.size() == 3);
    QVERIFY(open_store(path("a.db")).runs()->empty());
  }

  void PublishesNothingFromAMissingFolder() {
    StoreThread store(path("a.db"));
    SignalLog published(store.reader(), &StoreReader::published_read);
    store.start();
    store.post(&StoreReader::read_published, path("nowhere"));
    QTRY_COMPARE(published.count(), 1);
    QVERIFY(std::get<0>(published.all().front())->empty());
  }

  void ImportsAnExportedRun() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    StoreThread from(path("a.db"));
    StoreThread to(path("b.db"));
    SignalLog exported(from.reader(), &StoreReader::succeeded);
    RunListModel model;
    connect(to.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    from.start();
    to.start();
    const QString file = folder_->filePath(u"run.attn"_s);
    from.post(&StoreReader::export_runs, QStringList{text_of(run)}, file);
    QTRY_COMPARE(exported.count(), 1);
    to.post(&StoreReader::import_file, file);
    QTRY_COMPARE(model.rowCount(), 1);
    QVERIFY(model.entry(text_of(run)) != nullptr);
  }

  void OpensARunFileReadOnly() {
    Store other = open_store(path("a.db"));
    const RunId run = add_done_run(other, "done", {64});
    QVERIFY(other.export_runs({run}, path("run.attn")).has_value());
    StoreThread store(path("run.attn"));
    RunListModel model;
    connect(store.reader(), &StoreReader::runs_changed, &model, &RunListModel::set_runs);
    SignalLog failed(store.reader(), &StoreReader::failed);
    store.start();
    QTRY_COMPARE(model.rowCount(), 1);
    store.post(&StoreReader::remove_runs, QStringList{text_of(run)});
    QTRY_COMPARE(failed.count(), 1);
    QVERIFY(std::get<0>(failed.all().front()).contains(u"read-only"_s));
    QCOMPARE(model.rowCount(), 1);
  }

  void NamesADamagedRun() {
    {
      Store other = open_store(path("a.db"));
      static_cast<void>(add_done_run(other, "sound", {64}));
      static_cast<void>(add_done_run(other, "hurt", {64}));
    }
    QFile file(QString::fromStdString(path("a.db").string()));
    QVERIFY(file.open(QIODevice::ReadWrite));
    QByteArray bytes = file.readAll();
    const qsizetype at = bytes.lastIndexOf("made-up processor");
    QVERIFY(at > 0);
    bytes[at] = 'M';
    file.seek(0);
    file.write(bytes);
    file.close();
    StoreThread store(path("a.db"));
    SignalLog damaged(store.reader(), &StoreReader::damaged);
    store.start();
    QTRY_COMPARE_WITH_TIMEOUT(damaged.count(), 1, 60000);  // it takes no time from others
    const QString sentence = std::get<1>(damaged.all().front());
    QVERIFY2(sentence.contains(u"attnscope export"_s), qPrintable(sentence));
    QVERIFY2(sentence.contains(u"a.db"_s), qPrintable(sentence));
  }

  void ReportsARemovedRun() {
    StoreThread store(path("a.db"));
    SignalLog read(store.reader(), &StoreReader::run_read);
    store.start();
    store.post(&StoreReader::show_run, request_for(u"00000000-0000-0000-0000-000000000000"_s));
    QTRY_COMPARE(read.count(), 1);
    QVERIFY(!last_run(read)->problem.isEmpty());
  }
};

ATTNSCOPE_GUI_TEST(StoreThreadTest)

}  // namespace attnscope::gui
#include "store_thread_test.moc"
