# Copyright 2026 The boundary_env_ros developers
# SPDX-License-Identifier: Apache-2.0

# Some ROS 2 wheels export include directories of the machine that built them, and CMake refuses an
# imported target whose include directory does not exist. Drop those, once every package is found.
# With a ROS 2 from Debian packages or from source there is nothing to drop.
function(drop_missing_include_directories)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(directories ${target} INTERFACE_INCLUDE_DIRECTORIES)
    if(NOT directories)
      continue()
    endif()
    set(kept "")
    foreach(directory IN LISTS directories)
      # A generator expression has no leading slash: CMake itself judges it.
      if(NOT IS_ABSOLUTE "${directory}" OR EXISTS "${directory}")
        list(APPEND kept "${directory}")
      endif()
    endforeach()
    if(NOT kept STREQUAL directories)
      set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${kept}")
    endif()
  endforeach()
endfunction()

cmake_language(DEFER CALL drop_missing_include_directories)
