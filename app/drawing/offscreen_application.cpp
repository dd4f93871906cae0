// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawing/offscreen_application.h"

#include <QApplication>
#include <QTemporaryDir>

namespace attnscope::charts {
namespace {

// QApplication keeps references to both for its whole lifetime.
int argument_count = 3;
char program[] = "attnscope";
char option[] = "-platform";
char platform[] = "offscreen";
char* arguments[] = {program, option, platform, nullptr};

}  // namespace

OffscreenApplication::OffscreenApplication() {
  if (QCoreApplication::instance() != nullptr) return;
  // Without a private runtime folder Qt prints a warning to stderr, although drawing to a file
  // needs none.
  if (!qEnvironmentVariableIsSet("XDG_RUNTIME_DIR")) {
    runtime_folder_ = std::make_unique<QTemporaryDir>();
    qputenv("XDG_RUNTIME_DIR", runtime_folder_->path().toLocal8Bit());
  }
  argument_count = 3;
  application_ = std::make_unique<QApplication>(argument_count, arguments);
}

OffscreenApplication::~OffscreenApplication() = default;

}  // namespace attnscope::charts
