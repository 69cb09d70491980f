# The stages' targets, from their manifest.

# json_list(JSON OUT KEY...): an array of strings as a list.
function(json_list json out)
  set(items)
  string(JSON count LENGTH "${json}" ${ARGN})
  if(count GREATER 0)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON item GET "${json}" ${ARGN} ${i})
      list(APPEND items "${item}")
    endforeach()
  endif()
  set(${out} "${items}" PARENT_SCOPE)
endfunction()

# add_stages(MANIFEST): every stage of the manifest, as the executables stages/NAME and stages/cpu/NAME
# and, with every shape of tests/stage_test.cpp, as tests/NAME_gpu_test and tests/NAME_cpu_test.
function(add_stages manifest)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
  file(READ ${manifest} json)
  string(JSON count LENGTH "${json}" stages)
  math(EXPR last "${count} - 1")
  foreach(i RANGE ${last})
    string(JSON stage GET "${json}" stages ${i})
    add_stage("${stage}")
  endforeach()
endfunction()

# as_cpp_bool(VARIABLE CONDITION...): true or false, as C++ writes them.
macro(as_cpp_bool variable)
  if(${ARGN})
    set(${variable} true)
  else()
    set(${variable} false)
  endif()
endmacro()

# add_stage(JSON): one entry of the manifest.
function(add_stage stage)
  string(JSON name GET "${stage}" name)
  string(JSON compute_capability GET "${stage}" needs compute_capability)
  string(JSON aligned GET "${stage}" aligned_rows)
  json_list("${stage}" features needs features)
  json_list("${stage}" devices devices)
  as_cpp_bool(aligned_rows aligned)
  as_cpp_bool(tensor_cores tensor_cores IN_LIST features)
  as_cpp_bool(no_other wgmma IN_LIST features) # wgmma and setmaxnreg exist in sm_90a alone
  as_cpp_bool(on_cpu cpu IN_LIST devices)
  set(generated ${PROJECT_BINARY_DIR}/generated/${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/stage.h.in ${generated}/stage.h @ONLY)

  add_cpu_stage(${name} ${on_cpu} ${generated})
  if(BUILD_TESTING AND on_cpu)
    add_stage_test(${name} cpu)
  endif()
  if(NOT LADDER_CUDA)
    return()
  endif()
  set(architectures)
  foreach(candidate IN LISTS CMAKE_CUDA_ARCHITECTURES)
    string(REGEX MATCH "^[0-9]+" number "${candidate}")
    if(no_other)
      if(candidate STREQUAL "${compute_capability}a")
        list(APPEND architectures ${candidate})
      endif()
    elseif(NOT number OR number GREATER_EQUAL compute_capability) # "native" and the like have no number
      list(APPEND architectures ${candidate})
    endif()
  endforeach()
  if(NOT architectures)
    message(STATUS "${name} needs sm_${compute_capability}: left out for ${CMAKE_CUDA_ARCHITECTURES}")
    return()
  endif()

  add_library(${name}_gpu_object OBJECT stages/${name}.cu)
  set_target_properties(
    ${name}_gpu_object
    PROPERTIES CUDA_ARCHITECTURES "${architectures}"
               CUDA_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/refuse_serialized_wgmma.sh)
  target_compile_options(${name}_gpu_object PRIVATE -lineinfo ${LADDER_RESOURCE_WARNINGS})
  target_include_directories(${name}_gpu_object PRIVATE bench kernels ${generated})
  target_link_libraries(${name}_gpu_object PRIVATE warnings)

  add_executable(${name} $<TARGET_OBJECTS:${name}_gpu_object>)
  target_link_libraries(${name} PRIVATE harness_gpu)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/stages)
  if(BUILD_TESTING)
    add_stage_test(${name} gpu)
  endif()
endfunction()
