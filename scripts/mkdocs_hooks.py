"""MkDocs loads its hooks from a file."""

from ladder.site import (
    on_config,
    on_files,
    on_page_content,
    on_page_context,
    on_page_markdown,
    on_post_build,
    on_post_page,
    on_post_template,
)

__all__ = [
    "on_config",
    "on_files",
    "on_page_content",
    "on_page_context",
    "on_page_markdown",
    "on_post_build",
    "on_post_page",
    "on_post_template",
]
