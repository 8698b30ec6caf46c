add_custom_target(fakes)

# Libraries that stand in for those of a GPU machine, each alone in its folder under the name that
# programs look for: LD_LIBRARY_PATH or dlopen find nothing else there.
# Its source is tests/TARGET/TARGET.cc, or that of another one.
function(fake_library target folder file)
  set(source ${target})
  if(ARGC GREATER 3)
    set(source ${ARGV3})
  endif()
  add_library(${target} SHARED ${CMAKE_SOURCE_DIR}/tests/${source}/${source}.cc)
  target_link_libraries(${target} PRIVATE assay_settings)
  # Programs without a sanitizer load them, too.
  target_compile_options(${target} PRIVATE -fno-sanitize=all)
  target_link_options(${target} PRIVATE -fno-sanitize=all)
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${folder} PREFIX ""
                                             OUTPUT_NAME ${file} SUFFIX "")
  add_dependencies(fakes ${target})
endfunction()

set(fake_nvml_folder ${CMAKE_CURRENT_BINARY_DIR}/fake_nvml)
set(fake_nccl_file ${CMAKE_CURRENT_BINARY_DIR}/fake_nccl/libnccl.so.2)
fake_library(fake_nvml ${fake_nvml_folder} libnvidia-ml.so.1)
fake_library(fake_nccl ${CMAKE_CURRENT_BINARY_DIR}/fake_nccl libnccl.so.2)
set(fake_cupti_file ${CMAKE_CURRENT_BINARY_DIR}/fake_cupti/libcupti.so.13)
fake_library(fake_cupti ${CMAKE_CURRENT_BINARY_DIR}/fake_cupti libcupti.so.13)
foreach(name cudart.so.13 cublasLt.so.13 cudnn.so.9 nccl.so.2)
  fake_library(fake_cuda_${name} ${CMAKE_CURRENT_BINARY_DIR}/fake_cuda lib${name} fake_cuda)
endforeach()

set(fake_torch_file ${CMAKE_CURRENT_BINARY_DIR}/fake_torch/libtorch_cuda.so)
fake_library(fake_torch ${CMAKE_CURRENT_BINARY_DIR}/fake_torch libtorch_cuda.so)
# The same under the name that the wheel knows our library by.
set(fake_allreduce_file ${CMAKE_CURRENT_BINARY_DIR}/fake_torch/libassay_allreduce.so.1)
fake_library(fake_allreduce ${CMAKE_CURRENT_BINARY_DIR}/fake_torch libassay_allreduce.so.1 fake_torch)
foreach(fake fake_torch fake_allreduce)
  target_include_directories(${fake} PRIVATE ${CMAKE_SOURCE_DIR}/include)
endforeach()

# A program that calls the recorder as NCCL does.
add_executable(fake_nccl_job ${CMAKE_SOURCE_DIR}/tests/fake_nccl_job/fake_nccl_job.cc)
target_link_libraries(fake_nccl_job PRIVATE assay_settings Threads::Threads ${CMAKE_DL_LIBS})
target_compile_options(fake_nccl_job PRIVATE -fno-sanitize=all)
target_link_options(fake_nccl_job PRIVATE -fno-sanitize=all)
add_dependencies(fakes fake_nccl_job assay_recorder_plugin)
