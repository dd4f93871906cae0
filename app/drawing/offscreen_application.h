#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// Fonts and painting need a QApplication. A command that draws a file first creates this object,
// which creates a QApplication without a display or uses the existing one.

#include <memory>

class QApplication;
class QTemporaryDir;

namespace attnscope::charts {

class OffscreenApplication {
 public:
  OffscreenApplication();
  ~OffscreenApplication();
  OffscreenApplication(const OffscreenApplication&) = delete;
  OffscreenApplication& operator=(const OffscreenApplication&) = delete;

 private:
  std::unique_ptr<QTemporaryDir> runtime_folder_;
  std::unique_ptr<QApplication> application_;
};

}  // namespace attnscope::charts
