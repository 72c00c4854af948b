"""The site's Markdown extension: equations tied to their lines and tests, and live source."""

from markdown import Extension


def makeExtension(**options: object) -> Extension:  # noqa: N802, the name that Markdown looks for
    """The extension; what it needs is loaded only now."""
    from literate.extension import LiterateExtension

    return LiterateExtension(**options)
