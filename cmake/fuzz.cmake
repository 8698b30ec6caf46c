# Every src/LAYER/**/NAME_fuzz.cc defines LLVMFuzzerTestOneInput. With ASSAY_FUZZ each becomes a
# libFuzzer program; otherwise those of a layer become one program, LAYER_fuzz_replay, which feeds a
# target the corpus and fixed mutations of it and which any compiler builds. Either links only the
# layer. The corpus of all targets of a layer is tests/fuzz/corpus/LAYER, where that exists.
set(fuzz_runs 3000)
# The libraries that a layer has besides its own.
set(parts_of_model assay_serving)
set(parts_of_goal assay_serving)
set(parts_of_collect assay_operators assay_serving)
set(parts_of_plan assay_serving)
set(parts_of_simulate yaml-cpp)
set(parts_of_store assay_serving)
file(GLOB_RECURSE fuzz_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*_fuzz.cc)
set(fuzz_layers "")
set(fuzz_list "")
foreach(source IN LISTS fuzz_sources)
  cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_SOURCE_DIR}/src OUTPUT_VARIABLE name)
  string(REGEX REPLACE "/.*" "" layer ${name})
  string(REGEX REPLACE "\\.cc$" "" name ${name})
  string(REPLACE "/" "_" name ${name})
  set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${layer})
  if(NOT IS_DIRECTORY ${corpus})
    set(corpus ${CMAKE_SOURCE_DIR}/tests/fuzz/corpus)
  endif()
  if(ASSAY_FUZZ)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE assay_settings assay_${layer} ${parts_of_${layer}})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    string(APPEND fuzz_list "${name} ${corpus}\n")
    continue()
  endif()
  list(APPEND fuzz_layers ${layer})
  list(APPEND ${layer}_fuzz_sources ${source})
  set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=${name})
  string(APPEND ${layer}_fuzz_declarations "FuzzTarget ${name};\n")
  string(APPEND ${layer}_fuzz_rows "    {\"${name}\", ${name}},\n")
  add_test(NAME fuzz.${name} COMMAND ${layer}_fuzz_replay ${name} ${fuzz_runs} ${corpus})
endforeach()
# For tools/nightly.sh: a line for each target, its name and its corpus.
file(WRITE ${CMAKE_BINARY_DIR}/fuzz_targets.txt "${fuzz_list}")

list(REMOVE_DUPLICATES fuzz_layers)
foreach(layer IN LISTS fuzz_layers)
  set(declarations "${${layer}_fuzz_declarations}")
  set(rows "${${layer}_fuzz_rows}")
  configure_file(${CMAKE_SOURCE_DIR}/tests/fuzz/targets.cc.in
                 ${CMAKE_CURRENT_BINARY_DIR}/${layer}_fuzz_targets.cc @ONLY)
  add_executable(${layer}_fuzz_replay ${CMAKE_SOURCE_DIR}/tests/fuzz/replay.cc ${${layer}_fuzz_sources}
                                      ${CMAKE_CURRENT_BINARY_DIR}/${layer}_fuzz_targets.cc)
  target_include_directories(${layer}_fuzz_replay PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz)
  target_link_libraries(${layer}_fuzz_replay PRIVATE assay_settings assay_${layer} ${parts_of_${layer}}
                                                           ZLIB::ZLIB)
endforeach()
