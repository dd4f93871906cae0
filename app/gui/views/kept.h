#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
//
// What a person moved or chose is kept in the settings at once, and is there again after a restart.
//
//   keep_sizes(*split);   // once its widgets are in it; its object name is the key
//   keep_choice(*views);  // once its entries are in it

class QComboBox;
class QSplitter;

namespace attnscope::gui {

/// The sizes of a splitter, as they were dragged.
void keep_sizes(QSplitter& splitter);

/// The entry of a list that never changes, by its place in it. Only what a person chooses is kept,
/// not what the program sets.
void keep_choice(QComboBox& box);

}  // namespace attnscope::gui
