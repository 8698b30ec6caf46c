# libassay_allreduce.so, the C library of assay/allreduce.h, and assay-worker, which measures it.
# Both need the CUDA compiler; without it the rest of assay builds and works all the same.

# What assay-worker has of the rest of assay, compiled again: without sanitizers.
set(worker_host_sources
    allreduce/strategy.cc allreduce/bench/protocol.cc allreduce/bench/nccl_protocol.cc
    allreduce/bench/sampler.cc allreduce/nccl_setting.cc allreduce/tuner/tuner_file.cc core/check.cc
    core/json_fields.cc core/mpi/job.cc core/own_files.cc core/shared_library.cc core/statistics.cc
    core/text.cc model/collective.cc model/data_type.cc gpu/nvidia_state.cc gpu/nvml.cc)
# Linked alone, so that a build without the CUDA compiler notices when one of them needs another.
if(NOT ASSAY_SANITIZE)
  add_library(assay_worker_host MODULE ${worker_host_sources})
  target_link_libraries(assay_worker_host PRIVATE assay_settings nlohmann_json::nlohmann_json
                                                  fmt::fmt-header-only ${CMAKE_DL_LIBS})
  target_link_options(assay_worker_host PRIVATE -Wl,--no-undefined)
  assay_units(assay_worker_host)
endif()

if(ASSAY_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
endif()
if(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "No CUDA compiler: assay-worker and libassay_allreduce are left out")
  return()
endif()
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90a-real)
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
find_path(ASSAY_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
if(NOT ASSAY_NCCL_INCLUDE)
  message(STATUS "No nccl.h: assay-worker and libassay_allreduce are left out")
  return()
endif()
set(ASSAY_HAVE_CUDA ON)

# The sanitizers and most warnings are the host compiler's; nvcc takes those that its own output
# passes. A sanitizer in a library that other programs load would be of no use to them.
add_library(assay_cuda_settings INTERFACE)
target_compile_features(assay_cuda_settings INTERFACE cxx_std_20)
target_include_directories(
  assay_cuda_settings INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                                ${ASSAY_NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
target_compile_options(
  assay_cuda_settings
  INTERFACE -fno-sanitize=all
            $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow>
            $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra>)
target_link_options(assay_cuda_settings INTERFACE -fno-sanitize=all)
target_link_libraries(assay_cuda_settings INTERFACE CUDA::cudart_static Threads::Threads
                                                    ${CMAKE_DL_LIBS})
if(ASSAY_CCACHE)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${ASSAY_CCACHE})
endif()

file(GLOB allreduce_library_sources CONFIGURE_DEPENDS allreduce/library/*.cc
     allreduce/strategies/*.cu)
add_library(assay_allreduce_library SHARED ${allreduce_library_sources} allreduce/call_rules.cc
                                           allreduce/rank_agreement.cc allreduce/strategy.cc allreduce/strategy_table.cc
                                           core/check.cc core/shared_library.cc core/text.cc
                                           model/data_type.cc)
target_include_directories(assay_allreduce_library INTERFACE $<INSTALL_INTERFACE:include>)
target_link_libraries(assay_allreduce_library PRIVATE assay_cuda_settings
                                                      nlohmann_json::nlohmann_json fmt::fmt-header-only)
target_compile_definitions(assay_allreduce_library PRIVATE ASSAY_VERSION="${PROJECT_VERSION}")
set(allreduce_exports ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/library/exports.map)
target_link_options(
  assay_allreduce_library PRIVATE -static-libstdc++ -static-libgcc -Wl,--no-undefined
  -Wl,--version-script=${allreduce_exports})
set_target_properties(
  assay_allreduce_library
  PROPERTIES OUTPUT_NAME assay_allreduce CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden
             VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
             LINK_DEPENDS ${allreduce_exports})

file(GLOB worker_sources CONFIGURE_DEPENDS allreduce/worker/*.cc allreduce/worker/*.cu)
# What `assay collect` measures and how, compiled again: without sanitizers.
file(GLOB collect_worker_sources CONFIGURE_DEPENDS collect/cuda/*.cc collect/cuda/*.cu
     collect/ops/*.cc)
list(APPEND worker_sources ${collect_worker_sources})
list(FILTER worker_sources EXCLUDE REGEX "_test\\.cc$")
# Attention's graphs need the header of cuDNN 9.15 or newer; the library is opened when it is needed.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES ${CUDAToolkit_INCLUDE_DIRS})
check_cxx_source_compiles(
  "#include <cudnn_graph.h>
  int main() { return CUDNN_ATTR_OPERATION_SDPA_FWD_SEQ_LEN_KVDESC == 0; }" ASSAY_HAVE_CUDNN)
unset(CMAKE_REQUIRED_INCLUDES)
if(NOT ASSAY_HAVE_CUDNN)
  message(STATUS "No cudnn_graph.h of cuDNN 9.15 or newer: assay-worker goes without its attention")
  list(FILTER worker_sources EXCLUDE REGEX "/collect/cuda/(cudnn_|attention_(ahead|cudnn|graph|mask))")
endif()
file(GLOB collect_worker_sources CONFIGURE_DEPENDS collect/kernels/*.cc collect/worker/*.cc)
list(FILTER collect_worker_sources EXCLUDE REGEX "_test\\.cc$")
list(APPEND worker_sources ${collect_worker_sources} collect/plan/operator.cc)
# decode_layer reads the models that ship with assay.
file(GLOB serving_sources CONFIGURE_DEPENDS model/serving/*.cc model/serving/families/*.cc)
list(FILTER serving_sources EXCLUDE REGEX "_test\\.cc$|_fuzz\\.cc$|/read_model\\.cc$")
list(APPEND worker_sources ${serving_sources} ${models_source})
add_executable(assay_worker cli/gpu_worker/main.cc ${worker_sources} ${worker_host_sources})
target_compile_definitions(assay_worker PRIVATE ASSAY_VERSION="${PROJECT_VERSION}"
                                                ASSAY_HAVE_CUDNN=$<BOOL:${ASSAY_HAVE_CUDNN}>)
target_link_libraries(assay_worker PRIVATE assay_cuda_settings assay_allreduce_library
                                           nlohmann_json::nlohmann_json PkgConfig::pcre2
                                           fmt::fmt-header-only)
target_link_options(assay_worker PRIVATE -static-libstdc++ -static-libgcc -Wl,--disable-new-dtags)
# Beside the library in the build tree as in the archive.
set_target_properties(
  assay_worker PROPERTIES OUTPUT_NAME assay-worker BUILD_WITH_INSTALL_RPATH ON
                          INSTALL_RPATH "$ORIGIN/../lib;$ORIGIN")
assay_units(assay_allreduce_library)
assay_units(assay_worker)
add_dependencies(programs assay_worker)
install(TARGETS assay_worker RUNTIME DESTINATION bin)
install_c_library(assay_allreduce_library allreduce 1 "All-reduce between the GPUs of one host")
