// SPDX-License-Identifier: Apache-2.0
//
// attnscope_mask_timing [SIDE]: how long frames of page Patterns' masks take on a view of SIDE
// points (800), one line for each pattern and length. `show` is the call that shows a mask, `frame`
// the paint after it and `zoomed` one after a zoom: processor time of the window's thread, which
// other processes do not disturb. `fine` is the time by the clock until the finest picture is
// there.

#include <QApplication>
#include <QElapsedTimer>
#include <QPixmap>
#include <QtTest>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "app/drawing/printable.h"
#include "app/gui/charts/map_view.h"

namespace attnscope::charts {
namespace {

constexpr int repetitions = 9;

/// Processor time of this thread.
double thread_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double milliseconds(const QElapsedTimer& timer) {
  return static_cast<double>(timer.nsecsElapsed()) / 1e6;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void paint(MaskView& view, QPixmap& target) {
  view.render(&target);
}

void settle(MaskView& view, QPixmap& target) {
  (void)QTest::qWaitFor(
      [&] {
        if (view.is_settled()) return true;
        paint(view, target);
        return view.is_settled();
      },
      120'000);
}

void time_mask(MaskView& view, const char* name, std::int64_t tokens) {
  QPixmap target(view.size());
  const AttentionPattern pattern = find_pattern(name).value();
  std::vector<double> show, frame, zoomed, fine;
  for (int i = 0; i < repetitions; ++i) {
    // Another window each time, so that nothing is drawn already.
    const Window window = Window::of(4 + i);
    view.show_all();
    QElapsedTimer timer;
    timer.start();
    double before = thread_milliseconds();
    const Status shown =
        view.show_mask(pattern, window, {.cls = 1, .query = 11, .documents = {tokens - 12}});
    show.push_back(thread_milliseconds() - before);
    if (!shown) {
      std::printf("%s: %s\n", name, shown.error().message.c_str());
      return;
    }
    (void)QTest::qWaitFor([&] { return view.problem() && view.problem()->tokens() == tokens; },
                          120'000);
    before = thread_milliseconds();
    paint(view, target);
    frame.push_back(thread_milliseconds() - before);
    settle(view, target);
    fine.push_back(milliseconds(timer));
    view.zoom_to(1, tokens / 2, tokens / 2);
    before = thread_milliseconds();
    paint(view, target);
    zoomed.push_back(thread_milliseconds() - before);
    settle(view, target);
  }
  std::printf("%-12s %9lld %9.2f %9.2f %9.2f %9.1f\n", name, static_cast<long long>(tokens),
              median(show), median(frame), median(zoomed), median(fine));
  std::fflush(stdout);
}

}  // namespace
}  // namespace attnscope::charts

int main(int argc, char** argv) {
  using namespace attnscope::charts;
  const OffscreenApplication application;
  const int side = argc > 1 ? std::clamp(std::atoi(argv[1]), 200, 4000) : 800;
  MaskView view;
  view.set_style(MaskStyle::true_scale);
  view.resize(side, side);
  view.show();
  std::printf("medians of %d in ms, view of %d points\n%-12s %9s %9s %9s %9s %9s\n", repetitions,
              side, "pattern", "tokens", "show", "frame", "zoomed", "fine");
  for (const char* name : {"sparse", "longformer", "qds", "bigbird"}) {
    for (const std::int64_t tokens : {512, 4096, 16'384, 131'072, 1'000'000}) {
      time_mask(view, name, tokens);
    }
  }
  return 0;
}
