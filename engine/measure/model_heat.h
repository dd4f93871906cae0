#pragma once
// SPDX-License-Identifier: Apache-2.0
//
// A heat of whole models: from token ids to scores, all on the same random weights and ids,
// each with the batch that all fit or, where the heat says so, with the largest that fits itself.

#include "engine/measure/heat_record.h"

namespace attnscope::measure {

void measure_models(HeatRecord& record, const GroupSizes& sizes);

}  // namespace attnscope::measure
