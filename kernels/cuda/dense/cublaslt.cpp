// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense/cublaslt.h"

#include <dlfcn.h>

#include <string>

namespace attnscope::cuda {

Result<CublasLt> load_cublaslt(std::initializer_list<const char*> files) {
  std::string reason;  // of the first failure
  for (const char* file : files) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (reason.empty()) reason = dlerror();
      continue;
    }
    // Never unloaded: CUDA libraries run code at process exit.
    CublasLt found = {};
    const char* missing = nullptr;
#define ATTNSCOPE_FIND(member, name, ...)                                         \
  found.member = reinterpret_cast<decltype(found.member)>(dlsym(library, #name)); \
  if (found.member == nullptr && missing == nullptr) missing = #name
    ATTNSCOPE_CUBLASLT_FUNCTIONS(ATTNSCOPE_FIND);
#undef ATTNSCOPE_FIND
    if (missing == nullptr) return found;
    return fail("cuBLASLt from {} has no function {}; install that of CUDA 12 or 13", file,
                missing);
  }
  return fail(
      "cuBLASLt cannot be loaded ({}); it comes with the CUDA Toolkit: put its folder on "
      "LD_LIBRARY_PATH",
      reason);
}

const Result<CublasLt>& cublaslt() {
  // By name first, which selects a copy that the process has already mapped, such as LibTorch's.
  // The interface used here is the same in both versions.
  static const Result<CublasLt> library = load_cublaslt({"libcublasLt.so.13",
#ifdef ATTNSCOPE_CUBLASLT_FILE
                                                         ATTNSCOPE_CUBLASLT_FILE,
#endif
                                                         "libcublasLt.so.12"});
  return library;
}

Status checked(const CublasLt& library, int status, const char* call, const char* file, int line) {
  if (status == lt::success) return {};
  return fail("cuBLASLt: {} failed at {}:{}: {} ({})", call, file, line,
              library.status_text(status), library.status_name(status));
}

}  // namespace attnscope::cuda
