# The files of this folder, for the kernels' library and for the emulation of the device:
#   cuda_host_sources           plain C++, always built: work lists, error messages
#   cuda_device_sources_FOLDER  sources that need the CUDA headers, or call such code
set(cuda_folders segment windowed dense)
set(cuda ${CMAKE_SOURCE_DIR}/kernels/cuda)
file(GLOB cuda_host_sources CONFIGURE_DEPENDS ${cuda}/operands.cpp ${cuda}/work/*.cpp)
list(APPEND cuda_host_sources ${cuda}/windowed/lists.cpp)
foreach(folder IN LISTS cuda_folders)
  file(GLOB cuda_device_sources_${folder} CONFIGURE_DEPENDS ${cuda}/${folder}/*.cpp ${cuda}/${folder}/*.cu)
  list(REMOVE_ITEM cuda_device_sources_${folder} ${cuda_host_sources})
endforeach()

# attnscope_cuda_instantiations(VARIABLE): the walks for 16-bit types and head dimensions 32 and 64, one
# file each so that they compile in parallel, from segment/instantiation.cu.in.
function(attnscope_cuda_instantiations variable)
  foreach(type IN ITEMS float16 bfloat16)
    foreach(columns IN ITEMS 32 64)
      set(file ${CMAKE_BINARY_DIR}/generated/kernels/cuda/segment/${type}_${columns}.cu)
      configure_file(${cuda}/segment/instantiation.cu.in ${file} @ONLY)
      list(APPEND files ${file})
    endforeach()
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()
