// SPDX-License-Identifier: Apache-2.0
//
// CO-PACRR (Hui et al., Co-PACRR: A Context-Aware Neural IR Model for Ad-hoc Retrieval, WSDM 2018).
#include "engine/model/pacrr/pacrr_description.h"

namespace attnscope {

const FamilyDescription& co_pacrr_description() {
  static const PacrrDescription description(
      "co-pacrr",
      "PACRR with the best matches of each quarter's end of the document, and how near the query "
      "the words around them are.",
      pacrr::by_co_pacrr);
  return description;
}

}  // namespace attnscope
