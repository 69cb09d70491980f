"""The kernels of python/triton/rows.py: which there are."""

from ladder.project import ROOT

KERNELS = ROOT / "python/triton/rows.py"
OPERATIONS = ("add", "softmax", "layer_norm", "layer_norm_gelu")
FUNCTIONS = {operation: f"{operation}_kernel" for operation in OPERATIONS}
FUNCTIONS["layer_norm_gelu"] = FUNCTIONS["layer_norm"]
