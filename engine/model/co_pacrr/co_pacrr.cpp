// SPDX-License-Identifier: Apache-2.0
//
// CO-PACRR: PACRR with the context of each match (Hui et al., WSDM 2018).
#include "engine/model/pacrr/pacrr_family.h"

namespace attnscope {

const FamilyDescription& co_pacrr_description();

const Family& co_pacrr_family() {
  static const PacrrFamily family(co_pacrr_description(), pacrr::by_co_pacrr);
  return family;
}

}  // namespace attnscope
