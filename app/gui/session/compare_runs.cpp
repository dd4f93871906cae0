// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/gui/session/compare_runs.h"

#include "app/gui/session/text.h"

namespace attnscope::gui {
namespace {

Result<report::Comparison> read_and_compare(const RunInFile& a, const RunInFile& b) {
  const Result<Store> store_a = Store::open(a.file, Store::Mode::read_only);
  if (!store_a) return tl::unexpected(store_a.error());
  const Result<Store> store_b = Store::open(b.file, Store::Mode::read_only);
  if (!store_b) return tl::unexpected(store_b.error());
  const Result<RunInfo> run_a = store_a->find_run(a.uuid.toStdString());
  if (!run_a) return tl::unexpected(run_a.error());
  const Result<RunInfo> run_b = store_b->find_run(b.uuid.toStdString());
  if (!run_b) return tl::unexpected(run_b.error());
  return report::compare_runs(*store_a, *run_a, *store_b, *run_b);
}

}  // namespace

ComparisonPointer compare_runs(const RunInFile& a, const RunInFile& b) {
  auto snapshot = std::make_shared<ComparisonSnapshot>();
  snapshot->uuid_a = a.uuid;
  snapshot->uuid_b = b.uuid;
  Result<report::Comparison> comparison = read_and_compare(a, b);
  if (comparison) {
    snapshot->comparison = std::move(*comparison);
  } else {
    snapshot->problem = words(comparison.error().message);
  }
  return snapshot;
}

}  // namespace attnscope::gui
