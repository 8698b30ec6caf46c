# What NCCL loads into other people's programs. Such a library brings its own C++ library, shows
# nothing but the symbols of its exports.map, and stays loaded until the process ends.

# nccl_plugin(TARGET OUTPUT_NAME FOLDER SOURCE...): libOUTPUT_NAME.so; FOLDER has its exports.map.
function(nccl_plugin target output_name folder)
  add_library(${target} MODULE ${ARGN})
  target_link_libraries(${target} PRIVATE assay_settings Threads::Threads ${CMAKE_DL_LIBS})
  # Programs without a sanitizer load it, too.
  target_compile_options(${target} PRIVATE -fno-sanitize=all)
  set(exports ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/exports.map)
  target_link_options(
    ${target} PRIVATE -fno-sanitize=all -static-libstdc++ -static-libgcc -Wl,-z,nodelete
    -Wl,--no-undefined -Wl,--gc-sections -Wl,--version-script=${exports})
  set_target_properties(
    ${target} PROPERTIES OUTPUT_NAME ${output_name} CXX_VISIBILITY_PRESET hidden
                         VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON
                         LINK_DEPENDS ${exports})
  assay_units(${target})
  add_dependencies(programs ${target})
  install(TARGETS ${target} LIBRARY DESTINATION lib)
endfunction()

file(GLOB recorder_sources CONFIGURE_DEPENDS recorder/plugin/*.cc)
list(FILTER recorder_sources EXCLUDE REGEX "_test\\.cc$")
nccl_plugin(assay_recorder_plugin assay_recorder recorder/plugin ${recorder_sources})
nccl_plugin(assay_nccl_tuner assay_nccl_tuner allreduce/tuner allreduce/tuner/plugin.cc
            allreduce/tuner/tuner_file.cc)
