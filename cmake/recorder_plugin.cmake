# What NCCL loads into other people's programs: it brings its own C++ library, shows nothing but
# NCCL's two symbols, and stays loaded, because a thread of it runs until the process ends.
file(GLOB recorder_sources CONFIGURE_DEPENDS recorder/plugin/*.cc)
list(FILTER recorder_sources EXCLUDE REGEX "_test\\.cc$")
add_library(assay_recorder_plugin MODULE ${recorder_sources})
target_link_libraries(assay_recorder_plugin PRIVATE assay_settings Threads::Threads
                                                    ${CMAKE_DL_LIBS})
# Programs without a sanitizer load it, too.
target_compile_options(assay_recorder_plugin PRIVATE -fno-sanitize=all)
set(recorder_exports ${CMAKE_CURRENT_SOURCE_DIR}/recorder/plugin/exports.map)
target_link_options(
  assay_recorder_plugin PRIVATE -fno-sanitize=all -static-libstdc++ -static-libgcc -Wl,-z,nodelete
  -Wl,--no-undefined -Wl,--gc-sections -Wl,--version-script=${recorder_exports})
set_target_properties(
  assay_recorder_plugin
  PROPERTIES OUTPUT_NAME assay_recorder CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
             POSITION_INDEPENDENT_CODE ON LINK_DEPENDS ${recorder_exports})
assay_units(assay_recorder_plugin)
add_dependencies(programs assay_recorder_plugin)
install(TARGETS assay_recorder_plugin LIBRARY DESTINATION lib)
