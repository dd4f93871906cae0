// SPDX-License-Identifier: GPL-3.0-or-later
//
// The window's drawer for a new run, and what it is told by the session.
#include "app/gui/main_window.h"
#include "app/gui/views/command_bar.h"
#include "app/gui/views/compare_page.h"
#include "app/gui/views/new_run_drawer.h"

namespace attnscope::gui {

void MainWindow::open_new_run() {
  show_page(compare_page);
  if (!commands_->run_action()->isEnabled()) return;  // the page says why
  if (!new_run_) make_new_run();
  implementations_.ask();
  new_run_->open();
}

void MainWindow::make_new_run() {
  new_run_ = new NewRunDrawer(compare_);
  new_run_->set_devices(devices_.devices());
  new_run_->set_device(commands_->device());
  forecast_.set_measuring(runs_.live() != nullptr);
  connect(new_run_, &NewRunDrawer::start_asked, this, &MainWindow::start_run);
  connect(new_run_, &NewRunDrawer::forecast_wanted, &forecast_, &SweepForecast::ask);
  connect(&forecast_, &SweepForecast::answered, new_run_,
          [this] { new_run_->set_forecast(forecast_.forecast()); });
  connect(&devices_, &DeviceList::answered, new_run_,
          [this] { new_run_->set_devices(devices_.devices()); });
  connect(commands_, &CommandBar::device_chosen, new_run_, &NewRunDrawer::set_device);
  connect(&implementations_, &ImplementationList::answered, new_run_, [this] {
    new_run_->set_implementations(implementations_.implementations(), implementations_.problem());
  });
}

void MainWindow::start_run(const std::string& sweep_text) {
  launcher_.start(sweep_text);
}

}  // namespace attnscope::gui
