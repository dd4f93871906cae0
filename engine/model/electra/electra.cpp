// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/bert_like_family.h"

namespace attnscope {

const FamilyDescription& electra_description();

const Family& electra_family() {
  static const BertLikeFamily family(electra_description());
  return family;
}

}  // namespace attnscope
