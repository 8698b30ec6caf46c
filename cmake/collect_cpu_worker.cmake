# assay-cpu-worker: measures operators on CPUs with oneDNN, through the path that GPUs take.
# Without oneDNN the rest of assay builds and works all the same.
# By hand: the package's own CMake file asks for OpenCL's headers.
find_path(ASSAY_DNNL_INCLUDE dnnl.hpp)
find_library(ASSAY_DNNL_LIBRARY dnnl)
if(NOT ASSAY_DNNL_INCLUDE OR NOT ASSAY_DNNL_LIBRARY)
  message(STATUS "No oneDNN: assay-cpu-worker is left out")
  return()
endif()
file(GLOB cpu_worker_sources CONFIGURE_DEPENDS collect/cpu/*.cc)
list(FILTER cpu_worker_sources EXCLUDE REGEX "_test\\.cc$")
add_executable(assay_cpu_worker ${cpu_worker_sources})
target_link_libraries(assay_cpu_worker PRIVATE assay_settings assay_collect assay_operators
                                                assay_serving ${ASSAY_DNNL_LIBRARY})
target_include_directories(assay_cpu_worker SYSTEM PRIVATE ${ASSAY_DNNL_INCLUDE})
target_link_options(assay_cpu_worker PRIVATE -Wl,--disable-new-dtags)
set_target_properties(assay_cpu_worker PROPERTIES OUTPUT_NAME assay-cpu-worker
                                                  INSTALL_RPATH "$ORIGIN/../lib"
                                                  BUILD_WITH_INSTALL_RPATH ON)
assay_units(assay_cpu_worker)
add_dependencies(programs assay_cpu_worker)
install(TARGETS assay_cpu_worker RUNTIME DESTINATION bin)
