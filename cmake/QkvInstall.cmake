# cmake --install: headers, libraries, and a package for find_package(qkv).
#
# qkv and qkv_io go into two export sets, so that who uses the engine alone needs nothing of what
# reading .npz files takes.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/qkv)

function(qkv_install_library target export)
  install(TARGETS ${target} EXPORT ${export}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${export} NAMESPACE qkv:: DESTINATION ${package_dir} FILE ${export}.cmake)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
endfunction()

qkv_install_library(qkv qkvTargets)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/qkv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN io.h EXCLUDE PATTERN checkpoint.h EXCLUDE)

if(TARGET qkv_io)
  set_target_properties(qkv_io PROPERTIES EXPORT_NAME io)
  qkv_install_library(qkv_io qkvIoTargets)
  install(FILES ${PROJECT_SOURCE_DIR}/include/qkv/io.h ${PROJECT_SOURCE_DIR}/include/qkv/checkpoint.h
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/qkv)
endif()

if(TARGET qkv_command)
  set_target_properties(qkv_command PROPERTIES
    INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
endif()

# A static library's dependencies are those of its users; a shared one has found its own.
get_target_property(library_type qkv TYPE)
string(COMPARE EQUAL ${library_type} STATIC_LIBRARY QKV_STATIC)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/qkvConfig.cmake.in
  ${PROJECT_BINARY_DIR}/qkvConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/qkvConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/qkvConfig.cmake ${PROJECT_BINARY_DIR}/qkvConfigVersion.cmake
  DESTINATION ${package_dir})

# The documents that the installed headers speak of.
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE
  ${PROJECT_SOURCE_DIR}/docs/arithmetic.md ${PROJECT_SOURCE_DIR}/docs/learning.md
  ${PROJECT_SOURCE_DIR}/docs/positions.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
