# libseccomp brings no package for CMake. This file is also installed: a program that links Hearth links libseccomp.
find_path(libseccomp_INCLUDE_DIR seccomp.h)
find_library(libseccomp_LIBRARY seccomp)
mark_as_advanced(libseccomp_INCLUDE_DIR libseccomp_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libseccomp REQUIRED_VARS libseccomp_LIBRARY libseccomp_INCLUDE_DIR)

if(libseccomp_FOUND AND NOT TARGET libseccomp::libseccomp)
  add_library(libseccomp::libseccomp UNKNOWN IMPORTED)
  set_target_properties(libseccomp::libseccomp PROPERTIES
    IMPORTED_LOCATION ${libseccomp_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${libseccomp_INCLUDE_DIR})
endif()
