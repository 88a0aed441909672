"""
Django's commands for this example: ``python -m examples.wagtail_site.manage COMMAND``.
"""

import os
import sys


def main() -> None:
    """Run the command of the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "examples.wagtail_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
