"""docs/examples/attention.py does what it says."""

import os
import subprocess
import sys
import unittest


class Example(unittest.TestCase):
    def test_attention(self):
        file = os.path.join(os.environ["ZYFA_SOURCE_DIR"], "docs", "examples", "attention.py")
        result = subprocess.run([sys.executable, file], stdout=subprocess.PIPE, text=True, check=True)
        self.assertRegex(
            result.stdout,
            r"\ABF16: \(2, 384, 6, 128\) torch.bfloat16, LSE \(2, 6, 384\), relative error 0\.0[3-6]\d\n"
            r"FP8:  \(2, 384, 6, 128\) torch.bfloat16, relative error 0\.0[1-4]\d\n"
            r"fused views give the same bits: True\n\Z",
        )


if __name__ == "__main__":
    unittest.main()
