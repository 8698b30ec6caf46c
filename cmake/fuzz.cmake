# Every src/**/<name>_fuzz.cc defines LLVMFuzzerTestOneInput and becomes a program <name>_fuzz:
# with ASSAY_FUZZ a libFuzzer target, otherwise a test that feeds it the corpus and fixed
# mutations of it, which any compiler builds.
set(fuzz_runs 3000)
file(GLOB golden_inputs CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/golden/trace/*/in)
set(fuzz_corpus ${CMAKE_SOURCE_DIR}/samples ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus
                ${golden_inputs})

file(GLOB_RECURSE fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_fuzz.cc)
foreach(source IN LISTS fuzz_sources)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src OUTPUT_VARIABLE name)
  string(REGEX REPLACE "\\.cc$" "" name ${name})
  string(REPLACE "/" "_" name ${name})
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE assay_settings assay_trace assay_goal assay_simulate
                                        assay_allreduce assay_collect assay_store
                                        ZLIB::ZLIB)
  if(ASSAY_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.cc)
    add_test(NAME fuzz.${name} COMMAND ${name} ${fuzz_runs} ${fuzz_corpus})
  endif()
endforeach()
