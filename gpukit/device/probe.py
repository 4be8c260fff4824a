"""Query the CUDA driver before anything large is imported, with only the standard library.

``select.py`` runs this file as a program. It lists the GPUs that CUDA shows, as JSON on standard output. CUDA reads
CUDA_VISIBLE_DEVICES once, when it starts. So the caller can still choose GPUs afterwards, and survives a broken driver.
"""

import ctypes
import json
import threading


def probe(library: str = "libcuda.so.1") -> dict:
    """Return ``{"devices": [{uuid, name, memory, capability}]}`` or ``{"error": text}``."""
    cuda = ctypes.CDLL(library)
    if status := cuda.cuInit(0):
        return {"error": f"CUDA cannot start ({_name(cuda, status)})"}
    count = ctypes.c_int()
    if status := cuda.cuDeviceGetCount(ctypes.byref(count)):
        return {"error": f"CUDA cannot list its devices ({_name(cuda, status)})"}
    return {"devices": [_describe(cuda, index) for index in range(count.value)]}


def start_contexts(count: int, library: str = "libcuda.so.1") -> threading.Thread:
    """Start a thread in which the driver creates the contexts of the first ``count`` GPUs, all at once, and return it.

    This takes tenths of a second, in which the caller can import what it needs. Both libraries that use a GPU take an
    existing context, and wait for one that is being created. Errors are ignored here; those libraries meet and report
    them.
    """
    thread = threading.Thread(target=_retain, args=(count, library), daemon=True)
    thread.start()
    return thread


def _retain(count: int, library: str) -> None:
    try:
        cuda = ctypes.CDLL(library)
    except OSError:
        return
    cuda.cuInit(0)

    def retain(index: int) -> None:
        device, context = ctypes.c_int(), ctypes.c_void_p()
        if cuda.cuDeviceGet(ctypes.byref(device), index) == 0:
            cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)

    others = [threading.Thread(target=retain, args=(index,), daemon=True) for index in range(1, count)]
    for one in others:
        one.start()
    retain(0)
    for one in others:
        one.join()


def _name(cuda: ctypes.CDLL, status: int) -> str:
    text = ctypes.c_char_p()
    cuda.cuGetErrorName(status, ctypes.byref(text))
    return text.value.decode() if text.value else f"error {status}"


def _describe(cuda: ctypes.CDLL, index: int) -> dict:
    device, name, memory, uuid = (
        ctypes.c_int(),
        ctypes.create_string_buffer(256),
        ctypes.c_size_t(),
        (ctypes.c_ubyte * 16)(),
    )
    cuda.cuDeviceGet(ctypes.byref(device), index)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    # Version 2 distinguishes the instances of a partitioned GPU (MIG).
    cuda.cuDeviceGetUuid_v2(ctypes.byref(uuid), device)
    digits = bytes(uuid).hex()
    major, minor = ctypes.c_int(), ctypes.c_int()
    cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, device)
    cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, device)
    return {
        "uuid": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])),
        "name": name.value.decode(),
        "memory": memory.value,
        "capability": [major.value, minor.value],
    }


if __name__ == "__main__":
    print(json.dumps(probe()))
