# The stages' targets.

# Their programs for the GPU, or for the CPU, and nothing else, which is what running them needs; and the first
# of them, which knows what options there are.
foreach(kind "" cpu_)
  add_custom_target(ladder_${kind}stages)
  add_custom_target(ladder_first_${kind}stage)
endforeach()

# What all stages include, compiled once for those on the CPU device.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cpu/headers.cpp CONTENT "")
add_library(ladder_stage_headers OBJECT ${PROJECT_BINARY_DIR}/cpu/headers.cpp)
kernel_on_cpu(ladder_stage_headers)
target_compile_options(ladder_stage_headers PRIVATE -g) # as those that use them, in add_cpu_stage()
target_precompile_headers(ladder_stage_headers PRIVATE ${PROJECT_SOURCE_DIR}/kernels/launch.cuh
                                                       ${PROJECT_SOURCE_DIR}/bench/harness/harness.h)

# Properties of tests, for all folders: a function sees the variables of the folder that calls it. Without the
# slow tests, those of stages and of counters go through fewer shapes.
set(fewest_shapes)
if(NOT LADDER_SLOW_TESTS)
  set(fewest_shapes ENVIRONMENT_MODIFICATION LADDER_FEWEST_SHAPES=set:1)
endif()
# On a GPU they come first: they may run beside those of the CPU device, unlike tests that measure. OpenMP's
# threads, who compute references there, are not to spin while they wait.
set(checks_on_gpu TIMEOUT 300 COST 200 ENVIRONMENT OMP_WAIT_POLICY=passive ${fewest_shapes})

# as_cpp_bool(VARIABLE CONDITION...): true or false, as C++ writes them.
macro(as_cpp_bool variable)
  if(${ARGN})
    set(${variable} true)
  else()
    set(${variable} false)
  endif()
endmacro()

# add_stage(NAME): a stage of the manifest, as the programs stages/NAME and stages/cpu/NAME and, with every
# shape of tests/stage_test.cpp, as tests/NAME_gpu_test and tests/NAME_cpu_test.
function(add_stage name)
  set(compute_capability ${LADDER_${name}_COMPUTE_CAPABILITY})
  set(features ${LADDER_${name}_FEATURES})
  ladder_only_architecture(only ${features})
  as_cpp_bool(aligned_rows LADDER_${name}_ALIGNED_ROWS)
  as_cpp_bool(any_layout LADDER_${name}_ANY_LAYOUT)
  as_cpp_bool(groups LADDER_${name}_GROUPS)
  as_cpp_bool(tensor_cores tensor_cores IN_LIST features)
  as_cpp_bool(no_other only)
  string(TOUPPER ${LADDER_${name}_REFERENCE} reference)
  string(TOUPPER ${LADDER_${name}_SUMS} sums)
  set(epilogue std::nullopt)
  if(LADDER_${name}_EPILOGUE)
    string(TOUPPER ${LADDER_${name}_EPILOGUE} activation)
    set(epilogue "harness::bias_and(Activation::${activation})")
  endif()
  set(generated ${PROJECT_BINARY_DIR}/generated/${name})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/stage.h.in ${generated}/stage.h @ONLY)

  add_cpu_stage(${name} ${generated})
  add_dependencies(ladder_cpu_stages ladder_${name}_cpu)
  list(GET LADDER_STAGES 0 first)
  if(name STREQUAL first)
    add_dependencies(ladder_first_cpu_stage ladder_${name}_cpu)
  endif()
  if(BUILD_TESTING)
    add_stage_test(${name} cpu)
  endif()
  if(NOT LADDER_CUDA)
    return()
  endif()
  ladder_architectures(architectures ${compute_capability} "${features}" "${CMAKE_CUDA_ARCHITECTURES}")
  if(NOT architectures)
    if(only)
      set(needed "sm_${only}, and no other")
    else()
      set(needed "sm_${compute_capability} or later")
    endif()
    message(STATUS "${name} needs ${needed}: left out for ${CMAKE_CUDA_ARCHITECTURES}")
    return()
  endif()

  set(object ladder_${name}_gpu_object)
  set(launcher ${PROJECT_SOURCE_DIR}/cmake/refuse_serialized_wgmma.sh ${CMAKE_CUDA_COMPILER_LAUNCHER})
  add_library(${object} OBJECT stages/${name}.cu)
  set_target_properties(
    ${object}
    PROPERTIES CUDA_ARCHITECTURES "${architectures}"
               CUDA_COMPILER_LAUNCHER "${launcher}")
  target_compile_options(${object} PRIVATE -lineinfo ${LADDER_RESOURCE_WARNINGS})
  if(LADDER_SLOW_TESTS) # of which wgmma_registers reads the PTX
    target_compile_options(${object} PRIVATE -no-compress)
  endif()
  target_include_directories(${object} PRIVATE bench kernels ${generated})
  target_link_libraries(${object} PRIVATE ladder_warnings)

  add_executable(ladder_${name} $<TARGET_OBJECTS:${object}>)
  add_dependencies(ladder_stages ladder_${name})
  if(name STREQUAL first)
    add_dependencies(ladder_first_stage ladder_${name})
  endif()
  target_link_libraries(ladder_${name} PRIVATE ladder_harness_gpu)
  set_target_properties(ladder_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                                      ${PROJECT_BINARY_DIR}/stages)
  if(BUILD_TESTING)
    add_stage_test(${name} gpu)
  endif()
endfunction()
