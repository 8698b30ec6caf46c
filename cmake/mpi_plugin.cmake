# libassay_mpi.so: the one part that needs MPI to be built, opened by programs that mpirun or srun
# started. Without MPI the rest of assay builds and works all the same.
enable_language(C)
find_package(MPI QUIET COMPONENTS CXX)
if(NOT MPI_CXX_FOUND)
  message(STATUS "No MPI: libassay_mpi is left out")
  return()
endif()
add_library(assay_mpi MODULE core/mpi/plugin.cc)
# A sanitizer would have to be in the program that opens it as well.
target_include_directories(assay_mpi PRIVATE ${CMAKE_SOURCE_DIR}/src)
target_compile_features(assay_mpi PRIVATE cxx_std_20)
target_compile_options(assay_mpi PRIVATE -Wall -Wextra -fno-sanitize=all)
target_link_options(assay_mpi PRIVATE -fno-sanitize=all -static-libstdc++ -static-libgcc)
target_compile_definitions(assay_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
target_link_libraries(assay_mpi PRIVATE MPI::MPI_CXX)
set_target_properties(assay_mpi PROPERTIES CXX_VISIBILITY_PRESET hidden)
add_dependencies(programs assay_mpi)
install(TARGETS assay_mpi LIBRARY DESTINATION lib)
