"""`python3 -m meter`."""

import sys

from meter.cli import main

sys.exit(main())
