"""JavaScript and TypeScript: prompts as functions, constants and calls build them.

The package parses with tree-sitter (extra ``source``) and follows text from where it arises to
where a model is asked. It executes nothing, opens other files of the project only for names
that a file imports from them, and counts its steps, so that it ends on any input. Left out:
what is reached through objects that are passed around, and types.
"""
