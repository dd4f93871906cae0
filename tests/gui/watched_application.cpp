// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/watched_application.h"

#include <fcntl.h>
#include <unistd.h>

#include <QEvent>
#include <QThread>
#include <array>
#include <charconv>
#include <chrono>
#include <cstring>

#include "tests/gui/gui_test.h"

namespace attnscope::gui {
namespace {

/// Time that this thread was ready but another ran on its processor: the second number of
/// /proc/thread-self/schedstat; 0 where there is no such file.
std::int64_t waited_for_processor_ns() {
  std::array<char, 128> text{};
  const int file = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  if (length <= 0) return 0;
  const char* end = text.data() + length;
  const char* second =
      static_cast<const char*>(std::memchr(text.data(), ' ', static_cast<std::size_t>(length)));
  std::int64_t value = 0;
  if (second) std::from_chars(second + 1, end, value);
  return value;
}

}  // namespace

bool WatchedApplication::notify(QObject* receiver, QEvent* event) {
  // Other threads' events pass here too: theirs may take their time.
  if (QThread::currentThread() != thread() || depth_ > 0)
    return QApplication::notify(receiver, event);
  const char* receiver_class = receiver->metaObject()->className();  // it may not outlive the event
  const int type = event->type();
  const std::int64_t waited = waited_for_processor_ns();
  const auto began = std::chrono::steady_clock::now();
  ++depth_;
  const bool done = QApplication::notify(receiver, event);
  --depth_;
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  const double others_ms = static_cast<double>(waited_for_processor_ns() - waited) / 1e6;
  if (const double ms = took.count() - others_ms; ms > longest_.ms) {
    longest_ = {ms, u"%1, event %2"_s.arg(QLatin1String(receiver_class)).arg(type)};
  }
  return done;
}

}  // namespace attnscope::gui
