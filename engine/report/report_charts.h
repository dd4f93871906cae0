#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// The charts of a page, as data drawn by resources/report/report.js: for each axis with several
// values in the run and each setting of the other axes, the figures that `plot` draws along it.
//
//   {"axes": [{"name": "Length", "settings": [{"name": "float16", "title": "...", "views": [
//       {"name": "Time", "x": "Sequence length (tokens)", "y": "Time per document (ms)",
//        "xlog": true, "ylog": true, "line": null, "warning": "", "series": [
//           {"name": "Sparse", "slot": 3,
//            "points": [{"x": 512, "y": 2.4, "low": 2.3, "high": 2.5, "cell": "7", "text": "..."}],
//            "rail": [{"x": 4096, "word": "oom", "reason": "...", "cell": "9"}]}]}]}]}],
//    "cells": {"7": ["512 tokens", "what else is known of it", ...]}}
//
// "names" of a view are labels at x = 0, 1, ...; a point with a reported change is "changed"; low
// and high are omitted without an interval.

#include <string>

#include "engine/report/run_history.h"
#include "engine/report/table.h"

namespace attnscope::report {

/// JSON that is safe in a <script> element: it contains no '<'. Empty if there is nothing to draw.
[[nodiscard]] std::string chart_of(const Table& table);
/// Every cell over the runs, one setting for each point.
[[nodiscard]] std::string chart_of(const RunHistory& history);

}  // namespace attnscope::report
