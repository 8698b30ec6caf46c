# Tests of what cmake/allreduce_library.cmake builds; without the CUDA compiler there is none.
if(NOT TARGET assay_worker)
  return()
endif()

add_executable(allreduce_quantize_tests
               ${CMAKE_SOURCE_DIR}/src/allreduce/strategies/quantize_test.cc)
target_link_libraries(allreduce_quantize_tests PRIVATE assay_cuda_settings GTest::gtest_main)
gtest_discover_tests(allreduce_quantize_tests DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES)

enable_language(C)
add_executable(allreduce_c_program ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/c_program.c)
set_target_properties(allreduce_c_program PROPERTIES C_STANDARD 99 C_STANDARD_REQUIRED ON
                                                     C_EXTENSIONS OFF)
target_compile_options(allreduce_c_program PRIVATE -Wall -Wextra -Werror -pedantic)
target_include_directories(allreduce_c_program PRIVATE ${CMAKE_SOURCE_DIR}/include)
target_link_libraries(allreduce_c_program PRIVATE assay_allreduce_library)
add_test(NAME allreduce.c_program COMMAND allreduce_c_program)

add_test(NAME allreduce.worker COMMAND Python3::Interpreter
                                       ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/worker_test.py)
set_tests_properties(allreduce.worker PROPERTIES ENVIRONMENT "WORKER=$<TARGET_FILE:assay_worker>")
add_test(NAME allreduce.gpu COMMAND Python3::Interpreter
                                    ${CMAKE_CURRENT_SOURCE_DIR}/allreduce/gpu_test.py)
set_tests_properties(
  allreduce.gpu
  PROPERTIES ENVIRONMENT "ASSAY=$<TARGET_FILE:assay>;ASSAY_WORKER=$<TARGET_FILE:assay_worker>"
             LABELS gpu SKIP_RETURN_CODE 77 RUN_SERIAL ON TIMEOUT 900)
