#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// The tokens as running text, each on the colour of the mass it receives. Tokens are chosen like
// text: click, Shift+click or drag; arrow keys move, Shift+arrows extend, Escape gives up.

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <vector>

#include "app/gui/charts/heat_colors.h"
#include "engine/inspect/dump.h"
#include "kernels/plan/attention_plan.h"

namespace attnscope::gui {

class TokenText : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit TokenText(QWidget* parent = nullptr);

  void show_tokens(std::shared_ptr<const Dump> dump);
  /// Empty: no colours (yet).
  void set_mass(std::vector<double> mass, const charts::HeatScale& scale);
  void set_chosen(std::optional<TokenRange> tokens);
  void set_marked(qint64 token);  // -1: none; scrolls to it unless it is seen

  [[nodiscard]] std::optional<TokenRange> chosen() const { return chosen_; }
  [[nodiscard]] qint64 token_at(QPoint position) const;
  /// In the viewport.
  [[nodiscard]] QRect rect_of(qint64 token) const;

  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;

 Q_SIGNALS:
  void hovered(qint64 token);
  void tokens_chosen(attnscope::TokenRange tokens);
  void choice_given_up();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;

 private:
  struct Placed {
    QString text;
    int x = 0, line = 0, width = 0;
  };
  void read_texts();
  void lay_out();
  void choose(qint64 anchor, qint64 cursor);
  void scroll_to(qint64 token);
  [[nodiscard]] int line_height() const;
  [[nodiscard]] qint64 size() const { return static_cast<qint64>(placed_.size()); }
  [[nodiscard]] qint64 first_of_line(int line) const;

  std::shared_ptr<const Dump> dump_;
  std::vector<Placed> placed_;
  std::vector<bool> joined_;  // without a space before it
  std::vector<double> mass_;
  charts::HeatScale scale_;
  std::optional<TokenRange> chosen_;
  qint64 anchor_ = -1, cursor_ = -1, marked_ = -1;
  bool choosing_ = false;
};

}  // namespace attnscope::gui
