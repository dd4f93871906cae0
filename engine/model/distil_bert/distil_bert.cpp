// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/bert_like_family.h"

namespace attnscope {

const FamilyDescription& distil_bert_description();

const Family& distil_bert_family() {
  static const BertLikeFamily family(distil_bert_description());
  return family;
}

}  // namespace attnscope
