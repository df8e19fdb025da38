/* zyfa's C interface: opens generated kernels for gfx950 and launches them, on an MI350X or MI355X through HIP or on
   the emulator in host memory. docs/library.md shows it in use.

   Every function that can fail returns a zyfa_status; zyfa_last_error() then says in one line which argument was wrong
   and what is accepted. All functions may be called from many threads at once, also with the same device and kernel.
   Launches allocate and synchronise nothing on a GPU: they can be captured into a graph. */
#ifndef ZYFA_H
#define ZYFA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ZYFA_API __attribute__((visibility("default")))
#else
#define ZYFA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of the structs and functions below; passed to zyfa_device_open, so that a library of another version refuses. */
#define ZYFA_ABI_VERSION 1

typedef enum zyfa_status {
  ZYFA_OK = 0,
  ZYFA_INVALID_ARGUMENT = 1, /* a null pointer, an extent, a stride, an alignment, a scale */
  ZYFA_FILE_NOT_FOUND = 2,
  ZYFA_BAD_CODE_OBJECT = 3, /* damaged, cut short, not for gfx950, or not what its manifest says */
  ZYFA_ABI_MISMATCH = 4,    /* another version of this interface or of the manifest */
  ZYFA_NO_KERNEL = 5,       /* a folder holds no kernel for what was asked */
  ZYFA_NO_RUNTIME = 6,      /* libamdhip64 can not be opened or lacks a function */
  ZYFA_NO_DEVICE = 7,       /* no GPU, or none with this number */
  ZYFA_WRONG_DEVICE = 8,    /* not a gfx950, or too little LDS */
  ZYFA_HIP_ERROR = 9,       /* a call of HIP failed */
  ZYFA_KERNEL_TRAPPED = 10, /* the emulator stopped at a wrong access or instruction */
  ZYFA_OUT_OF_MEMORY = 11,
  ZYFA_INTERNAL_ERROR = 12
} zyfa_status;

/* "ZYFA_INVALID_ARGUMENT" and the like. */
ZYFA_API const char* zyfa_status_name(zyfa_status status);

/* What the last call that failed on this thread had to say; valid until the next call that fails on it. "" if none has.
 */
ZYFA_API const char* zyfa_last_error(void);

ZYFA_API const char* zyfa_version(void); /* "0.1.0" */
ZYFA_API int zyfa_abi_version(void);     /* of the library that runs */

/* ---- Devices ---- */

typedef enum zyfa_backend {
  ZYFA_HIP = 1,     /* libamdhip64, opened at run time; pointers are device memory, streams are hipStream_t */
  ZYFA_EMULATOR = 2 /* pointers are host memory; a launch is done when it returns; streams are NULL */
} zyfa_backend;

typedef struct zyfa_device zyfa_device;

/* `ordinal`: HIP's number of the GPU; 0 for the emulator. */
ZYFA_API zyfa_status zyfa_device_open(int abi_version, zyfa_backend backend, int ordinal, zyfa_device** device);
/* Kernels that were opened on it stay valid. Null is allowed. */
ZYFA_API void zyfa_device_close(zyfa_device* device);

typedef struct zyfa_device_info {
  zyfa_backend backend;
  int32_t ordinal;
  char name[128];        /* "AMD Instinct MI355X" */
  char arch[64];         /* "gfx950:sramecc+:xnack-" */
  int32_t compute_units; /* of the whole device */
  int32_t dies;          /* accelerator dies (XCDs); 0 where the runtime is too old to tell */
  int64_t lds_bytes;     /* of a workgroup at most */
  char runtime[128];     /* "HIP 7.0.2 (libamdhip64.so.7)", "emulator" */
} zyfa_device_info;

ZYFA_API zyfa_status zyfa_device_get_info(const zyfa_device* device, zyfa_device_info* info);

/* ---- Kernels ---- */

typedef struct zyfa_kernel zyfa_kernel;

typedef enum zyfa_kernel_kind { ZYFA_ATTENTION = 1, ZYFA_QUANTISE = 2 } zyfa_kernel_kind;
typedef enum zyfa_query_type { ZYFA_QUERY_FP8 = 1, ZYFA_QUERY_BF16 = 2 } zyfa_query_type;
typedef enum zyfa_softmax { ZYFA_SOFTMAX_ANY = 0, ZYFA_SOFTMAX_LEAN = 1, ZYFA_SOFTMAX_EXACT = 2 } zyfa_softmax;

/* What a kernel computes: asked of zyfa_kernel_find, told by zyfa_kernel_get_info. */
typedef struct zyfa_kernel_traits {
  zyfa_kernel_kind kind;
  int32_t head_dim;   /* of queries and keys; of the rows, for ZYFA_QUANTISE */
  int32_t v_head_dim; /* of values and output; attention alone, as the rest up to `hadamard` */
  int32_t causal;     /* 0 or 1; bottom-right: query i sees key j where j <= i + seqlen_k - seqlen_q */
  int32_t lse;        /* 0 or 1: writes the log-sum-exp */
  zyfa_query_type q_type;
  zyfa_softmax softmax;
  int32_t
      folded; /* 0 or 1: softmax_scale * q_descale * k_descale * log2(e) must be a power of two (docs/numerics.md) */
  int32_t hadamard; /* 0 or 1: rows are rotated; ZYFA_QUANTISE alone */
} zyfa_kernel_traits;

/* A code object (.co); `manifest` may be null, for the .json beside it. */
ZYFA_API zyfa_status zyfa_kernel_open(zyfa_device* device, const char* code_object, const char* manifest,
                                      zyfa_kernel** kernel);
/* The same from memory, with the manifest's JSON text. Nothing is kept of what the pointers show. */
ZYFA_API zyfa_status zyfa_kernel_open_data(zyfa_device* device, const void* code_object, size_t bytes,
                                           const char* manifest_json, zyfa_kernel** kernel);
/* The kernel for these traits among the .json and .co files of a folder; the first by name if there are several. */
ZYFA_API zyfa_status zyfa_kernel_find(zyfa_device* device, const char* folder, const zyfa_kernel_traits* traits,
                                      zyfa_kernel** kernel);
/* Launches that still run must be waited for, and graphs that hold some destroyed, before. Null is allowed. */
ZYFA_API void zyfa_kernel_close(zyfa_kernel* kernel);

typedef struct zyfa_kernel_info {
  const char* symbol; /* valid as long as the kernel */
  zyfa_kernel_traits traits;
  int32_t workgroup_size; /* work-items */
  int32_t rows_per_workgroup;
  int32_t lds_bytes;
  int32_t kernarg_bytes;
  /* Limits. */
  int32_t alignment_bytes; /* of tensors and of their strides */
  int32_t max_heads;
  int32_t max_batch;
  int64_t max_seqlen;
  int64_t max_row_stride_bytes;
} zyfa_kernel_info;

ZYFA_API zyfa_status zyfa_kernel_get_info(const zyfa_kernel* kernel, zyfa_kernel_info* info);

/* ---- Attention ---- */

/* A tensor (batch, row, head, dim) anywhere: elements of a row are dense, strides are bytes. */
typedef struct zyfa_tensor {
  void* data;
  int64_t row_stride;   /* from one query, key or value of a head to the next */
  int64_t head_stride;  /* from one head to the next; the query head for Q and O, the key/value head for K and V */
  int64_t batch_stride; /* from one batch entry to the next */
} zyfa_tensor;

/* fp32 values, one for each (batch, head) or, for the log-sum-exp, a dense row of them. Strides are bytes; 0 repeats.
 */
typedef struct zyfa_values {
  float* data;
  int64_t head_stride;
  int64_t batch_stride;
} zyfa_values;

/* O = softmax(softmax_scale * Q K^T) V, real value = code * descale. Query head h reads key/value head
   h / (heads / kv_heads). Rows that see no key are 0, with a log-sum-exp of -infinity. */
typedef struct zyfa_attention {
  zyfa_tensor q;   /* e4m3fn, or bf16 (traits.q_type); head_dim elements a row; read only, like k, v and descales */
  zyfa_tensor k;   /* e4m3fn, head_dim elements a row */
  zyfa_tensor v;   /* e4m3fn, v_head_dim elements a row */
  zyfa_tensor o;   /* bf16, v_head_dim elements a row; written */
  zyfa_values lse; /* seqlen_q values a (batch, query head), natural logarithm; written by kernels with traits.lse */
  zyfa_values q_descale; /* one for each (batch, key/value head), all three, also without keys; q's plays no part with
                            bf16 queries */
  zyfa_values k_descale;
  zyfa_values v_descale;
  int32_t batch, heads, kv_heads;
  int64_t seqlen_q, seqlen_k; /* 0 or more */
  float softmax_scale;        /* 0 or more; 1 / sqrt(head_dim) as a rule */
} zyfa_attention;

typedef struct zyfa_grid {
  uint32_t workgroups[3]; /* any of them 0: there is nothing to launch */
  uint32_t workgroup_size[3];
  uint32_t dynamic_lds_bytes; /* 0 */
} zyfa_grid;

/* For launches through a runtime of one's own: the argument block as the kernel reads it, of zyfa_kernel_info's
   kernarg_bytes, and the grid. Checks the arguments as zyfa_attention_launch does. */
ZYFA_API zyfa_status zyfa_attention_kernargs(const zyfa_kernel* kernel, const zyfa_attention* arguments, void* kernargs,
                                             size_t kernargs_bytes, zyfa_grid* grid);

/* `stream`: a hipStream_t of the kernel's device, null for its default stream. */
ZYFA_API zyfa_status zyfa_attention_launch(const zyfa_kernel* kernel, const zyfa_attention* arguments, void* stream);

/* Bytes of device memory that a launch needs beside its tensors: 0 for attention. */
ZYFA_API zyfa_status zyfa_attention_workspace(const zyfa_kernel* kernel, const zyfa_attention* arguments,
                                              size_t* bytes);

/* ---- Quantisation ---- */

/* codes * descale = x, rotated if the kernel does so: one descale for each (batch, key/value head), the largest size of
   its heads' values / 448 (docs/quantise.md). Without rows nothing is written, descales neither. */
typedef struct zyfa_quantise {
  zyfa_tensor x;       /* bf16, head_dim elements a row */
  zyfa_tensor codes;   /* e4m3fn; written */
  zyfa_values descale; /* written */
  void* workspace; /* device memory of zyfa_quantise_workspace bytes, aligned to 4; this launch's until it is done */
  size_t workspace_bytes;
  int32_t batch, heads, kv_heads; /* heads = kv_heads for keys and values */
  int64_t seqlen;
  /* For queries of an attention kernel with traits.folded: the descales of its keys, written by an earlier launch of
     the stream, and its scale. Null and 0 otherwise. */
  zyfa_values k_descale;
  float softmax_scale;
} zyfa_quantise;

/* 4 bytes a workgroup. Of the arguments only the extents play a part. */
ZYFA_API zyfa_status zyfa_quantise_workspace(const zyfa_kernel* kernel, const zyfa_quantise* arguments, size_t* bytes);
/* Two launches of the kernel, one behind the other on the stream. */
ZYFA_API zyfa_status zyfa_quantise_launch(const zyfa_kernel* kernel, const zyfa_quantise* arguments, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* ZYFA_H */
