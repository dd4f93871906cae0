// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/bert_like_family.h"

namespace attnscope {

const FamilyDescription& lightning_ir_description();

const Family& lightning_ir_family() {
  static const BertLikeFamily family(lightning_ir_description());
  return family;
}

}  // namespace attnscope
