# libassay.so: assay/assay.h and assay/figures.h. It is made of the program's own objects, and shows nothing but the
# functions of the headers.
file(GLOB library_sources CONFIGURE_DEPENDS library/*.cc)
list(FILTER library_sources EXCLUDE REGEX "_test\\.cc$")
add_library(assay_library SHARED ${library_sources})
target_include_directories(
  assay_library PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(
  assay_library PRIVATE assay_settings assay_cli assay_trace assay_sweep assay_goal assay_recorder
                        assay_simulate assay_plan assay_allreduce assay_collect assay_operators
                        assay_doctor assay_serving nlohmann_json::nlohmann_json)
if(CMAKE_BUILD_TYPE STREQUAL Release)
  target_compile_options(assay_library PRIVATE -O3) # src/CMakeLists.txt says why not all are
endif()
set(exports ${CMAKE_CURRENT_SOURCE_DIR}/library/exports.map)
target_link_options(assay_library PRIVATE -Wl,--disable-new-dtags -Wl,-Bsymbolic
                    -Wl,--version-script=${exports})
set_target_properties(assay_library PROPERTIES OUTPUT_NAME assay LINK_DEPENDS ${exports}
                                               INSTALL_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
assay_units(assay_library)
add_dependencies(programs assay_library)
install_c_library(assay_library assay 0 "The engine of assay, with tables as Arrow streams" figures)
