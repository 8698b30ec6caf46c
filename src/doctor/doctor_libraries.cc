// Versions of NVIDIA's libraries, asked of themselves: none of these functions needs a GPU.
#include <dlfcn.h>
#include <fmt/core.h>

#include <cstddef>
#include <initializer_list>

#include "core/shared_library.h"
#include "doctor/doctor_checks.h"

namespace assay::doctor {
namespace {

// cudaRuntimeGetVersion and ncclGetVersion write to an int and return 0 for success;
// cudnnGetVersion and cublasLtGetVersion return a size_t.
enum class Shape { kWrites, kReturns };

struct Library {
  const char* name;
  std::initializer_list<const char*> files;  // newest first
  const char* function;
  Shape shape;
  std::string (*words)(std::size_t number);
};

// 13000 is 13.0.
std::string cuda_version(std::size_t number) {
  return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
}

// 130002 is 13.0.2.
std::string cublas_version(std::size_t number) {
  return fmt::format("{}.{}.{}", number / 10'000, number % 10'000 / 100, number % 100);
}

// 91400 is 9.14.0; before 9.0 8907 was 8.9.7.
std::string cudnn_version(std::size_t number) {
  const std::size_t major = number >= 90'000 ? 10'000 : 1000;
  return fmt::format("{}.{}.{}", number / major, number % major / 100, number % 100);
}

// 22803 is 2.28.3; before 2.9 2804 was 2.8.4.
std::string nccl_version(std::size_t number) {
  const std::size_t major = number >= 10'000 ? 10'000 : 1000;
  return fmt::format("{}.{}.{}", number / major, number % major / 100, number % 100);
}

const Library kLibraries[] = {
    {"CUDA runtime",
     {"libcudart.so.13", "libcudart.so.12"},
     "cudaRuntimeGetVersion",
     Shape::kWrites,
     cuda_version},
    {"cuBLASLt",
     {"libcublasLt.so.13", "libcublasLt.so.12"},
     "cublasLtGetVersion",
     Shape::kReturns,
     cublas_version},
    {"cuDNN",
     {"libcudnn.so.9", "libcudnn.so.8"},
     "cudnnGetVersion",
     Shape::kReturns,
     cudnn_version},
    {"NCCL", {"libnccl.so.2"}, "ncclGetVersion", Shape::kWrites, nccl_version},
};

std::size_t ask(void* function, Shape shape) {
  if (shape == Shape::kReturns) return reinterpret_cast<std::size_t (*)()>(function)();
  int number = 0;
  if (reinterpret_cast<int (*)(int*)>(function)(&number) != 0 || number < 0) return 0;
  return static_cast<std::size_t>(number);
}

bool find(const Library& wanted, const char* file, LibraryFound& found) {
  // Unloading CUDA's libraries again is no use: some leave memory behind that nobody then owns.
  const auto library = core::SharedLibrary::open({file}, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (!library.ok()) return false;
  found = {.name = wanted.name, .version = "unknown", .file = file};
  if (void* function = library.value().find(wanted.function)) {
    const std::size_t number = ask(function, wanted.shape);
    if (number > 0) found.version = wanted.words(number);
    Dl_info information{};
    if (::dladdr(function, &information) != 0) found.file = information.dli_fname;
  }
  return true;
}

}  // namespace

std::vector<LibraryFound> find_libraries() {
  std::vector<LibraryFound> libraries;
  for (const Library& wanted : kLibraries) {
    LibraryFound found;
    for (const char* file : wanted.files) {
      if (!find(wanted, file, found)) continue;
      libraries.push_back(found);
      break;
    }
  }
  return libraries;
}

}  // namespace assay::doctor
