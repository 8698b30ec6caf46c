# What an installation has besides programs and libraries, and the .deb that tools/package.sh makes.
# `find_package(assay)` gives assay::measure and, where it was built, assay::allreduce.
include(CMakePackageConfigHelpers)
set(package_folder lib/cmake/assay)
install(EXPORT assay NAMESPACE assay:: FILE assay-config.cmake DESTINATION ${package_folder}
        COMPONENT development)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/assay-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/assay-config-version.cmake DESTINATION ${package_folder}
        COMPONENT development)

# The notices of the libraries that are compiled into ours. Those of shared libraries come from
# tools/package.sh, which puts the libraries into the archive.
install(FILES LICENSE DESTINATION share/doc/assay RENAME copyright)
install(FILES CHANGELOG.md DESTINATION share/doc/assay)
foreach(package libcli11-dev libfmt-dev nlohmann-json3-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    install(FILES /usr/share/doc/${package}/copyright DESTINATION share/licenses/assay
            RENAME ${package})
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME assay)
set(CPACK_PACKAGE_VENDOR "the authors of assay")
set(CPACK_PACKAGE_CONTACT "the authors of assay")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Measures GPUs and their links under large-model work")
set(CPACK_PACKAGE_DESCRIPTION
    "Analyses profiler traces, sweeps settings, records and simulates collectives, measures operators
 and all-reduce, and answers from what was measured.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS gnuplot-nox)
include(CPack)

# CMake lists in the build folder what it has installed, and would fail at its end where another user
# may not write there. Nothing that installs may come after this.
install(
  CODE "execute_process(COMMAND test -w \"${CMAKE_BINARY_DIR}\" RESULT_VARIABLE cannot_write)
        if(cannot_write)
          message(STATUS \"No install_manifest.txt: ${CMAKE_BINARY_DIR} is another user's\")
          return()
        endif()"
  ALL_COMPONENTS)
