// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/dense/cublaslt.h"

#include <dlfcn.h>

#include <iterator>
#include <string>

namespace attnscope::cuda {
namespace {

// By name first: a copy that the process has mapped already, LibTorch's for one, is taken then. The
// interface used here is the same in both versions.
constexpr const char* usual_files[] = {"libcublasLt.so.13",
#ifdef ATTNSCOPE_CUBLASLT_FILE
                                       ATTNSCOPE_CUBLASLT_FILE,
#endif
                                       "libcublasLt.so.12"};

/// The name of a function that is missing, or nullptr.
const char* find_all(void* library, CublasLt& found) {
#define ATTNSCOPE_FIND(member, name, ...)                                         \
  found.member = reinterpret_cast<decltype(found.member)>(dlsym(library, #name)); \
  if (found.member == nullptr) return #name
  ATTNSCOPE_CUBLASLT_FUNCTIONS(ATTNSCOPE_FIND);
#undef ATTNSCOPE_FIND
  return nullptr;
}

}  // namespace

Result<CublasLt> load_cublaslt(const char* const* files, std::size_t count) {
  std::string reason = "no file was named";
  for (std::size_t i = 0; i < count; ++i) {
    void* library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      if (i == 0) reason = dlerror();
      continue;
    }
    CublasLt found = {};
    // Never unloaded: CUDA libraries run code of their own at the end of the process.
    if (const char* missing = find_all(library, found); missing != nullptr) {
      return fail("cuBLASLt from {} has no function {}; install that of CUDA 12 or 13", files[i],
                  missing);
    }
    return found;
  }
  return fail(
      "cuBLASLt cannot be loaded ({}); it comes with the CUDA Toolkit: put its folder on "
      "LD_LIBRARY_PATH",
      reason);
}

Result<const CublasLt*> cublaslt() {
  static const Result<CublasLt> library = load_cublaslt(usual_files, std::size(usual_files));
  if (!library) return tl::unexpected(library.error());
  return &*library;
}

Status checked(const CublasLt& library, int status, const char* call, const char* file, int line) {
  if (status == lt::success) return {};
  return fail("cuBLASLt: {} failed at {}:{}: {} ({})", call, file, line,
              library.status_text(status), library.status_name(status));
}

}  // namespace attnscope::cuda
