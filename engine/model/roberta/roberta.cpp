// SPDX-License-Identifier: Apache-2.0
#include "engine/model/bert/bert_like_family.h"

namespace attnscope {

const FamilyDescription& roberta_description();

const Family& roberta_family() {
  static const BertLikeFamily family(roberta_description());
  return family;
}

}  // namespace attnscope
