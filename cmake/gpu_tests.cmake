# Tests of what cmake/allreduce_library.cmake builds, all with the label gpu: `./dev gpu` runs them.
# Only allreduce.gpu, allreduce.library and allreduce.torch_gpu need GPUs.
#
# What a program in C sees of all-reduce is compiled everywhere.
enable_language(C)
add_library(allreduce_c_program_objects OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/c_program.c)
set_target_properties(allreduce_c_program_objects PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON
                                                             C_EXTENSIONS OFF)
target_compile_options(allreduce_c_program_objects PRIVATE -Wall -Wextra -Werror -pedantic)
target_include_directories(allreduce_c_program_objects PRIVATE ${CMAKE_SOURCE_DIR}/include)

if(NOT TARGET assay_worker)
  return()
endif()

add_executable(allreduce_quantize_tests
               ${CMAKE_SOURCE_DIR}/src/allreduce/strategies/quantize_test.cc)
target_link_libraries(allreduce_quantize_tests PRIVATE assay_cuda_settings GTest::gtest_main)
add_test(NAME unit.allreduce_quantize COMMAND allreduce_quantize_tests)

add_executable(allreduce_c_program)
target_link_libraries(allreduce_c_program PRIVATE allreduce_c_program_objects
                                                  assay_allreduce_library)
add_test(NAME allreduce.c_program COMMAND allreduce_c_program)

add_executable(allreduce_library_program ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/library_program.cc)
target_link_libraries(allreduce_library_program PRIVATE assay_cuda_settings assay_allreduce_library)
add_test(NAME allreduce.library COMMAND allreduce_library_program)
set_tests_properties(allreduce.library PROPERTIES ENVIRONMENT NCCL_NVLS_ENABLE=0 SKIP_RETURN_CODE 77
                                                  RUN_SERIAL ON TIMEOUT 900)

add_test(NAME allreduce.worker COMMAND Python3::Interpreter
                                       ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/worker_test.py)
set_tests_properties(allreduce.worker PROPERTIES ENVIRONMENT "WORKER=$<TARGET_FILE:assay_worker>")
add_test(NAME allreduce.gpu COMMAND Python3::Interpreter
                                    ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/gpu_test.py)
set_tests_properties(
  allreduce.gpu
  PROPERTIES ENVIRONMENT "ASSAY=$<TARGET_FILE:assay>;ASSAY_WORKER=$<TARGET_FILE:assay_worker>"
             SKIP_RETURN_CODE 77 RUN_SERIAL ON TIMEOUT 900)

add_test(NAME allreduce.torch_gpu COMMAND Python3::Interpreter
                                          ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/torch_gpu_test.py)
set_tests_properties(
  allreduce.torch_gpu
  PROPERTIES ENVIRONMENT
             "LIBRARY=$<TARGET_FILE:assay_allreduce_library>;TORCH_OPERATORS=$<TARGET_FILE:assay_allreduce_torch>"
             SKIP_RETURN_CODE 77 RUN_SERIAL ON TIMEOUT 900)

set(gpu_test_programs allreduce_quantize_tests allreduce_c_program allreduce_library_program
                      assay_allreduce_torch)
set(gpu_tests unit.allreduce_quantize allreduce.c_program allreduce.library allreduce.worker
              allreduce.gpu allreduce.torch_gpu)
if(ASSAY_HAVE_CUDNN)
  set(collect ${CMAKE_SOURCE_DIR}/src/collect)
  file(GLOB cudnn_sources CONFIGURE_DEPENDS ${collect}/cuda/cudnn_*.cc)
  add_executable(
    collect_cuda_tests
    ${cudnn_sources} ${collect}/cuda/attention_ahead.cc ${collect}/cuda/attention_examples.cc
    ${collect}/cuda/attention_graph.cc ${collect}/cuda/attention_mask.cc
    ${collect}/cuda/buffer_roles.cc ${collect}/cuda/buffers_test.cc
    ${collect}/cuda/attention_graph_test.cc ${collect}/cuda/attention_decode_tile_test.cc
    ${collect}/cuda/attention_context_tile_test.cc ${collect}/cuda/mla_decode_split_test.cc
    ${collect}/cuda/moe_buffers.cc ${collect}/cuda/moe_buffers_test.cc
    ${collect}/cuda/moe_packed_test.cc
    ${collect}/kernels/attention_layout.cc
    ${collect}/kernels/moe_routing.cc ${CMAKE_SOURCE_DIR}/src/core/check.cc
    ${CMAKE_SOURCE_DIR}/src/core/shared_library.cc ${CMAKE_SOURCE_DIR}/src/model/data_type.cc)
  target_link_libraries(collect_cuda_tests PRIVATE assay_cuda_settings fmt::fmt-header-only
                                                   GTest::gtest_main)
  add_test(NAME unit.collect_cuda COMMAND collect_cuda_tests)
  list(APPEND gpu_test_programs collect_cuda_tests)
  list(APPEND gpu_tests unit.collect_cuda)
endif()
set_property(TEST ${gpu_tests} PROPERTY LABELS gpu)
# The program of the layer gpu has the name gpu_tests.
add_custom_target(tests_of_gpu_programs DEPENDS ${gpu_test_programs})
