# What `cmake --install` puts where: bin/hearth; the programs it starts in libexec/hearth; the manual page
# and the completions of shells in share; libraries, and
# public headers in include/hearth; and the package that find_package(Hearth) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(HEARTH_LIBEXECDIR ${CMAKE_INSTALL_LIBEXECDIR}/hearth)
# The relative path lets hearth find its programs after the installation was moved.
file(RELATIVE_PATH HEARTH_LIBEXEC_FROM_BIN
  ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR}/hearth)

function(install_programs)
  install(TARGETS hearth RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS hearth-init hearth-launcher hearth-isolate
    RUNTIME DESTINATION ${HEARTH_LIBEXECDIR} LIBRARY DESTINATION ${HEARTH_LIBEXECDIR})
  install(DIRECTORY ${CMAKE_BINARY_DIR}/bin/executor_harness DESTINATION ${HEARTH_LIBEXECDIR})
  install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${CMAKE_INSTALL_DATADIR})
endfunction()

# Sets `result` to headers of src/ and all that they include, directly or not. As of the last configuration:
# the install test finds an include that is newer.
function(with_included_headers result)
  set(found "")
  set(waiting ${ARGN})
  while(waiting)
    list(POP_FRONT waiting header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found ${header})
    file(STRINGS ${CMAKE_SOURCE_DIR}/src/${header} includes REGEX "^#include \"")
    list(TRANSFORM includes REPLACE "^#include \"(.+)\".*" "\\1")
    list(APPEND waiting ${includes})
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# install_package(MODULES module... HEADERS file...): these modules as Hearth::hearth, and the headers of
# src/ that a program which embeds it may include.
function(install_package)
  cmake_parse_arguments(arg "" "" "MODULES;HEADERS" ${ARGN})
  set(modules ${arg_MODULES})
  list(TRANSFORM modules PREPEND hearth_)
  with_included_headers(headers ${arg_HEADERS})
  list(TRANSFORM headers PREPEND ${CMAKE_SOURCE_DIR}/src/)
  add_library(hearth_library INTERFACE)
  target_link_libraries(hearth_library INTERFACE ${modules})
  target_sources(hearth_library INTERFACE
    FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}/src FILES ${headers})
  if(HEARTH_SANITIZE)
    target_compile_options(hearth_library INTERFACE -fsanitize=${HEARTH_SANITIZE})
    target_link_options(hearth_library INTERFACE -fsanitize=${HEARTH_SANITIZE})
  endif()
  set_target_properties(hearth_library PROPERTIES EXPORT_NAME hearth)
  foreach(name asio logging ${arg_MODULES})
    set_target_properties(hearth_${name} PROPERTIES EXPORT_NAME ${name})
  endforeach()

  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Hearth)
  install(TARGETS hearth_library hearth_asio hearth_logging ${modules} EXPORT HearthTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/hearth)
  install(EXPORT HearthTargets NAMESPACE Hearth:: DESTINATION ${package})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/HearthConfig.cmake.in
    ${CMAKE_BINARY_DIR}/HearthConfig.cmake
    INSTALL_DESTINATION ${package} PATH_VARS HEARTH_LIBEXECDIR)
  # Before 1.0, every minor version may break its users.
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/HearthConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/HearthConfig.cmake ${CMAKE_BINARY_DIR}/HearthConfigVersion.cmake
    ${CMAKE_SOURCE_DIR}/cmake/supported_compiler.cmake ${CMAKE_SOURCE_DIR}/cmake/Findlibseccomp.cmake
    DESTINATION ${package})
endfunction()
