#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The charts of a page, as data that resources/report/report.js draws: for each axis that the run
// has several values of and each setting of the others the figures that `plot` draws along it.
//
//   {"axes": [{"name": "Length", "settings": [{"name": "float16", "title": "...", "views": [
//       {"name": "Time", "x": "Sequence length (tokens)", "y": "Time per document (ms)",
//        "xlog": true, "ylog": true, "line": null, "warning": "", "series": [
//           {"name": "Sparse", "slot": 3,
//            "points": [{"x": 512, "y": 2.4, "low": 2.3, "high": 2.5, "cell": "7", "text": "..."}],
//            "rail": [{"x": 4096, "word": "oom", "reason": "...", "cell": "9"}]}]}]}]}],
//    "cells": {"7": ["512 tokens", "what else is known of it", ...]}}
//
// "names" of a view are lines of text at x = 0, 1, ...; a point of which a change is told is
// "changed"; low and high are left out where there is no interval.

#include <string>

#include "engine/report/run_history.h"
#include "engine/report/table.h"

namespace attnscope::report {

/// JSON that may stand in a <script> element: it has no '<'. Empty: there is nothing to draw.
[[nodiscard]] std::string chart_of(const Table& table);
/// Every cell over the runs, a setting for each point.
[[nodiscard]] std::string chart_of(const RunHistory& history);

}  // namespace attnscope::report
