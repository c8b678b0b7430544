# What `cmake --install` puts where: bin/hearth; the programs it starts in libexec/hearth; libraries, and
# headers in include/hearth; and the package that find_package(Hearth) finds.
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
endfunction()

# install_package(module...): these modules, each as Hearth::MODULE, and all of them as Hearth::hearth.
function(install_package)
  set(modules ${ARGN})
  list(TRANSFORM modules PREPEND hearth_)
  add_library(hearth_library INTERFACE)
  target_link_libraries(hearth_library INTERFACE ${modules})
  if(HEARTH_SANITIZE)
    target_compile_options(hearth_library INTERFACE -fsanitize=${HEARTH_SANITIZE})
    target_link_options(hearth_library INTERFACE -fsanitize=${HEARTH_SANITIZE})
  endif()
  set_target_properties(hearth_library PROPERTIES EXPORT_NAME hearth)
  foreach(name asio logging ${ARGN})
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
